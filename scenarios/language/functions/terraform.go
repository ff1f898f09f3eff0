package functions

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// pure are functions of Terraform that cty's standard library lacks, and addr.
func pure() map[string]function.Function {
	text := func(f func(string) (string, error)) function.Function {
		return texts(func(args []cty.Value) (string, error) { return f(args[0].AsString()) }, stringParam("string"))
	}
	always := func(f func(string) string) function.Function {
		return text(func(s string) (string, error) { return f(s), nil })
	}
	compare := func(f func(a, b string) bool) function.Function {
		return function.New(&function.Spec{Params: []function.Parameter{stringParam("string"), stringParam("other")}, Type: function.StaticReturnType(cty.Bool),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				return cty.BoolVal(f(args[0].AsString(), args[1].AsString())), nil
			}})
	}
	bools := func(f func([]cty.Value) bool) function.Function {
		return function.New(&function.Spec{Params: []function.Parameter{{Name: "list", Type: cty.List(cty.Bool)}}, Type: function.StaticReturnType(cty.Bool),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				return cty.BoolVal(f(args[0].AsValueSlice())), nil
			}})
	}
	isTrue := func(v cty.Value) bool { return !v.IsNull() && v.True() }
	return map[string]function.Function{
		"startswith": compare(strings.HasPrefix), "endswith": compare(strings.HasSuffix), "strcontains": compare(strings.Contains),
		"basename": always(path.Base), "dirname": always(path.Dir), "urlencode": always(url.QueryEscape),
		"md5":          always(func(s string) string { sum := md5.Sum([]byte(s)); return hex.EncodeToString(sum[:]) }),
		"sha1":         always(func(s string) string { sum := sha1.Sum([]byte(s)); return hex.EncodeToString(sum[:]) }),
		"sha256":       always(func(s string) string { sum := sha256.Sum256([]byte(s)); return hex.EncodeToString(sum[:]) }),
		"sha512":       always(func(s string) string { sum := sha512.Sum512([]byte(s)); return hex.EncodeToString(sum[:]) }),
		"base64encode": always(func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }),
		"base64decode": text(decode64),
		"alltrue": bools(func(list []cty.Value) bool {
			return !slices.ContainsFunc(list, func(v cty.Value) bool { return !isTrue(v) })
		}),
		"anytrue":                bools(func(list []cty.Value) bool { return slices.ContainsFunc(list, isTrue) }),
		"setsymmetricdifference": stdlib.SetSymmetricDifferenceFunc,
		"sum":                    sum(), "one": one(), "transpose": transpose(), "cidrsubnets": cidrSubnets(), "addr": texts(addrOf, stringParam("ip"), function.Parameter{Name: "port", Type: cty.Number}),
	}
}

func decode64(s string) (string, error) {
	out, err := base64.StdEncoding.DecodeString(s)
	if err != nil || !utf8.Valid(out) {
		return "", function.NewArgErrorf(0, "not the base64 of a UTF-8 text")
	}
	return string(out), nil
}

// sum adds the numbers of a list.
func sum() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "list", Type: cty.List(cty.Number)}},
		Type:   function.StaticReturnType(cty.Number),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			out := cty.Zero
			for i, v := range args[0].AsValueSlice() {
				if v.IsNull() {
					return cty.NilVal, function.NewArgErrorf(0, "element %d is null", i)
				}
				out = out.Add(v)
			}
			return out, nil
		},
	})
}

// one is the only element of a list, null without any.
func one() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
		Type: func(args []cty.Value) (cty.Type, error) {
			switch v := args[0]; {
			case v.IsNull() || !v.Type().IsListType() && !v.Type().IsSetType() && !v.Type().IsTupleType():
				return cty.NilType, function.NewArgErrorf(0, "not a list, a set or a tuple")
			case v.LengthInt() > 1:
				return cty.NilType, function.NewArgErrorf(0, "%d elements, not one at most", v.LengthInt())
			case v.LengthInt() == 1:
				return v.AsValueSlice()[0].Type(), nil
			}
			return cty.DynamicPseudoType, nil
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			for _, v := range args[0].AsValueSlice() {
				return v, nil
			}
			return cty.NullVal(cty.DynamicPseudoType), nil
		},
	})
}

// transpose turns a map of lists of texts around: each text leads to the keys that had it.
func transpose() function.Function {
	lists := cty.Map(cty.List(cty.String))
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "map", Type: lists}},
		Type:   function.StaticReturnType(lists),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			keys := map[string][]cty.Value{}
			for k, list := range args[0].AsValueMap() {
				if list.IsNull() {
					return cty.NilVal, function.NewArgErrorf(0, "%q is null", k)
				}
				for _, v := range list.AsValueSlice() {
					if v.IsNull() {
						return cty.NilVal, function.NewArgErrorf(0, "%q holds a null", k)
					}
					keys[v.AsString()] = append(keys[v.AsString()], cty.StringVal(k))
				}
			}
			out := map[string]cty.Value{}
			for text := range maps.Keys(keys) {
				slices.SortFunc(keys[text], func(a, b cty.Value) int { return strings.Compare(a.AsString(), b.AsString()) })
				out[text] = cty.ListVal(keys[text])
			}
			if len(out) == 0 {
				return cty.MapValEmpty(cty.List(cty.String)), nil
			}
			return cty.MapVal(out), nil
		},
	})
}

// cidrSubnets are consecutive subnets of a prefix, each longer by its number of bits.
func cidrSubnets() function.Function {
	return function.New(&function.Spec{
		Params:   []function.Parameter{stringParam("prefix")},
		VarParam: &function.Parameter{Name: "newbits", Type: cty.Number},
		Type:     function.StaticReturnType(cty.List(cty.String)),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			p, err := prefixArg(args)
			if err != nil {
				return cty.NilVal, err
			}
			var out []cty.Value
			next := p.Addr()
			for i, arg := range args[1:] {
				more, ok := Whole(arg)
				if bits := p.Bits() + more; !ok || more < 1 || more > 32 || bits > next.BitLen() {
					return cty.NilVal, function.NewArgErrorf(i+1, "%s cannot be extended by %s bits", p, arg.AsBigFloat().String())
				}
				subnet := netip.PrefixFrom(next, p.Bits()+more)
				if subnet.Masked() != subnet { // after a smaller one: the next that begins at its own size
					subnet = netip.PrefixFrom(addNumber(subnet.Masked().Addr(), 1, next.BitLen()-subnet.Bits()), subnet.Bits())
				}
				if !next.IsValid() || !p.Contains(subnet.Addr()) {
					return cty.NilVal, function.NewArgErrorf(i+1, "%s has no room for %d subnets of these sizes", p, len(args)-1)
				}
				out = append(out, cty.StringVal(subnet.String()))
				if next = lastAddr(subnet).Next(); !next.IsValid() && i < len(args)-2 {
					return cty.NilVal, function.NewArgErrorf(i+2, "%s has no room for %d subnets of these sizes", p, len(args)-1)
				}
			}
			if out == nil {
				return cty.ListValEmpty(cty.String), nil
			}
			return cty.ListVal(out), nil
		},
	})
}

// addrOf is an address and a port, with brackets around IPv6.
func addrOf(args []cty.Value) (string, error) {
	ip, err := netip.ParseAddr(args[0].AsString())
	if err != nil {
		return "", function.NewArgErrorf(0, "%q is not an IP address", args[0].AsString())
	}
	port, ok := Whole(args[1])
	if !ok || port < 1 || port > 65535 {
		return "", function.NewArgErrorf(1, "%s is not a port", args[1].AsBigFloat().String())
	}
	return net.JoinHostPort(ip.String(), fmt.Sprint(port)), nil
}
