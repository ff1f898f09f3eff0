package functions

import (
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	ctyyaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/netlab/netlab/scenarios/language/source"
)

// New are those that expressions can call: cty's standard library under
// Terraform's names, addresses, and files of the scenario. None reads a clock, a
// source of randomness or the environment, so that a file means the same everywhere.
func New(files Files) map[string]function.Function {
	out := map[string]function.Function{
		"abs": stdlib.AbsoluteFunc, "ceil": stdlib.CeilFunc, "chomp": stdlib.ChompFunc, "chunklist": stdlib.ChunklistFunc,
		"coalesce": stdlib.CoalesceFunc, "coalescelist": stdlib.CoalesceListFunc, "compact": stdlib.CompactFunc,
		"concat": stdlib.ConcatFunc, "contains": stdlib.ContainsFunc, "csvdecode": stdlib.CSVDecodeFunc,
		"distinct": stdlib.DistinctFunc, "element": stdlib.ElementFunc, "flatten": stdlib.FlattenFunc, "floor": stdlib.FloorFunc,
		"format": bounded(stdlib.FormatFunc), "formatlist": bounded(stdlib.FormatListFunc), "indent": boundedIndent(),
		"index": stdlib.IndexFunc, "int": stdlib.IntFunc, "join": stdlib.JoinFunc, "jsondecode": stdlib.JSONDecodeFunc,
		"jsonencode": stdlib.JSONEncodeFunc, "keys": stdlib.KeysFunc, "length": lengthFunction(), "log": stdlib.LogFunc,
		"lookup": stdlib.LookupFunc, "lower": stdlib.LowerFunc, "max": stdlib.MaxFunc, "merge": stdlib.MergeFunc,
		"min": stdlib.MinFunc, "parseint": stdlib.ParseIntFunc, "pow": stdlib.PowFunc, "range": stdlib.RangeFunc,
		"regex": stdlib.RegexFunc, "regexall": stdlib.RegexAllFunc, "replace": stdlib.ReplaceFunc,
		"reverse": stdlib.ReverseListFunc, "setintersection": stdlib.SetIntersectionFunc, "setproduct": boundedProduct(),
		"setsubtract": stdlib.SetSubtractFunc, "setunion": stdlib.SetUnionFunc, "signum": stdlib.SignumFunc,
		"slice": stdlib.SliceFunc, "sort": stdlib.SortFunc, "split": stdlib.SplitFunc, "strlen": stdlib.StrlenFunc,
		"strrev": stdlib.ReverseFunc, "substr": stdlib.SubstrFunc, "title": stdlib.TitleFunc, "trim": stdlib.TrimFunc,
		"trimprefix": stdlib.TrimPrefixFunc, "trimspace": stdlib.TrimSpaceFunc, "trimsuffix": stdlib.TrimSuffixFunc,
		"upper": stdlib.UpperFunc, "values": stdlib.ValuesFunc, "zipmap": stdlib.ZipmapFunc,
		"formatdate": stdlib.FormatDateFunc, "timeadd": stdlib.TimeAddFunc,

		"tostring": stdlib.MakeToFunc(cty.String), "tonumber": stdlib.MakeToFunc(cty.Number), "tobool": stdlib.MakeToFunc(cty.Bool),
		"tolist": stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)), "toset": stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)),
		"tomap":      stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)),
		"yamldecode": ctyyaml.YAMLDecodeFunc, "yamlencode": ctyyaml.YAMLEncodeFunc,

		"cidrhost": cidrHost(), "cidrsubnet": cidrSubnet(), "cidrnetmask": cidrNetmask(),
		"file": fileFunction(files),
	}
	maps.Copy(out, pure())
	work := &budget{maxWork}
	for name, f := range out {
		out[name] = work.counted(f)
	}
	// These two decide for themselves whether to evaluate their arguments.
	out["try"], out["can"] = tryfunc.TryFunc, tryfunc.CanFunc
	out[loopFunc] = work.counter(func(v cty.Value) int { return turnPrice * (1 + weight(v)/elementPrice) })
	out[textFunc] = work.counter(weight)
	out[InstancesFunc] = instancesFunction()
	out["templatefile"] = templateFile(files, maps.Clone(out))
	return out
}

func Names(fs map[string]function.Function) []string {
	var out []string
	for name := range fs {
		if name[0] != 0 {
			out = append(out, name)
		}
	}
	return out
}

// lengthFunction is Terraform's length: of a collection, an object or a string.
func lengthFunction() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowDynamicType: true}},
		Type:   function.StaticReturnType(cty.Number),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			v := args[0]
			switch {
			case v.Type() == cty.String:
				return stdlib.Strlen(v)
			case v.CanIterateElements():
				return cty.NumberIntVal(int64(v.LengthInt())), nil
			}
			return cty.NilVal, function.NewArgErrorf(0, "not a collection, an object or a string")
		},
	})
}

var longWidth = regexp.MustCompile(`%[^a-zA-Z%]*[0-9]{4,}`)

// bounded rejects formats whose width would exhaust memory.
func bounded(f function.Function) function.Function {
	return wrapped(f, func(args []cty.Value) error {
		if len(args) > 0 && args[0].Type() == cty.String && args[0].IsKnown() && !args[0].IsNull() && longWidth.MatchString(args[0].AsString()) {
			return function.NewArgErrorf(0, "widths are limited to 999")
		}
		return nil
	})
}

func boundedIndent() function.Function {
	return wrapped(stdlib.IndentFunc, func(args []cty.Value) error {
		if n, ok := Whole(args[0]); !ok || n > 999 {
			return function.NewArgErrorf(0, "indents are limited to 999")
		}
		return nil
	})
}

func boundedProduct() function.Function {
	return wrapped(stdlib.SetProductFunc, func(args []cty.Value) error {
		n := 1
		for _, a := range args {
			if a.IsNull() || !a.CanIterateElements() {
				return nil
			}
			if n *= a.LengthInt(); n > MaxPairs {
				return fmt.Errorf("more than %d elements", MaxPairs)
			}
		}
		return nil
	})
}

// wrapped is a function whose arguments are checked before the call, and whose result
// is checked after it.
func wrapped(f function.Function, check func([]cty.Value) error, after ...func(cty.Value) error) function.Function {
	return function.New(&function.Spec{
		Params:   f.Params(),
		VarParam: f.VarParam(),
		Type: func(args []cty.Value) (cty.Type, error) {
			for _, a := range args {
				if !a.IsKnown() || a.IsNull() {
					return f.ReturnTypeForValues(args)
				}
			}
			if err := check(args); err != nil {
				return cty.NilType, err
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			v, err := f.Call(args)
			for _, check := range after {
				if err == nil {
					err = check(v)
				}
			}
			return v, err
		},
	})
}

func stringParam(name string) function.Parameter {
	return function.Parameter{Name: name, Type: cty.String}
}
func numberParam(name string) function.Parameter {
	return function.Parameter{Name: name, Type: cty.Number}
}

// Whole is a whole number that fits into 31 bits.
func Whole(v cty.Value) (int, bool) {
	f := v.AsBigFloat()
	n, _ := f.Int64()
	return int(n), f.IsInt() && n >= -1<<31 && n < 1<<31
}

func prefixArg(args []cty.Value) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(args[0].AsString())
	if err != nil {
		return p, function.NewArgErrorf(0, "%q is not a CIDR", args[0].AsString())
	}
	return p.Masked(), nil
}

// cidrHost is Terraform's cidrhost: the n-th address of a prefix, from the end when
// n is negative.
func cidrHost() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{stringParam("prefix"), numberParam("hostnum")},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			p, err := prefixArg(args)
			if err != nil {
				return cty.NilVal, err
			}
			n, ok := Whole(args[1])
			bits := p.Addr().BitLen() - p.Bits()
			if !ok || bits < 32 && (n >= 1<<bits || -n > 1<<bits) {
				return cty.NilVal, function.NewArgErrorf(1, "%s has no host number %s", p, args[1].AsBigFloat().String())
			}
			a := addNumber(p.Addr(), n, 0)
			if n < 0 {
				a = addNumber(lastAddr(p), n+1, 0)
			}
			return cty.StringVal(a.String()), nil
		},
	})
}

// cidrSubnet is Terraform's cidrsubnet: the n-th subnet of a longer prefix.
func cidrSubnet() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{stringParam("prefix"), numberParam("newbits"), numberParam("netnum")},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			p, err := prefixArg(args)
			if err != nil {
				return cty.NilVal, err
			}
			more, ok := Whole(args[1])
			if !ok || more < 0 || p.Bits()+more > p.Addr().BitLen() {
				return cty.NilVal, function.NewArgErrorf(1, "%s cannot be extended by %s bits", p, args[1].AsBigFloat().String())
			}
			n, ok := Whole(args[2])
			if !ok || n < 0 || more < 32 && n >= 1<<more {
				return cty.NilVal, function.NewArgErrorf(2, "there is no subnet %s of %d bits", args[2].AsBigFloat().String(), more)
			}
			bits := p.Bits() + more
			return cty.StringVal(netip.PrefixFrom(addNumber(p.Addr(), n, p.Addr().BitLen()-bits), bits).String()), nil
		},
	})
}

func cidrNetmask() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{stringParam("prefix")},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			p, err := prefixArg(args)
			if err != nil {
				return cty.NilVal, err
			}
			if !p.Addr().Is4() {
				return cty.NilVal, function.NewArgErrorf(0, "only IPv4 has netmasks")
			}
			m := uint32(0xffffffff)
			if p.Bits() < 32 {
				m <<= 32 - p.Bits()
			}
			return cty.StringVal(netip.AddrFrom4([4]byte{byte(m >> 24), byte(m >> 16), byte(m >> 8), byte(m)}).String()), nil
		},
	})
}

// addNumber adds n, shifted to the left, to an address.
func addNumber(a netip.Addr, n, shift int) netip.Addr {
	b := a.AsSlice()
	carry := n
	first := len(b) - 1 - shift/8
	carry <<= shift % 8
	for i := first; i >= 0 && carry != 0; i-- {
		carry += int(b[i])
		b[i] = byte(carry)
		carry >>= 8
	}
	out, _ := netip.AddrFromSlice(b)
	return out
}

func lastAddr(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}
	out, _ := netip.AddrFromSlice(b)
	return out
}

// Files reads the files that expressions name; a relative path starts in the
// scenario's folder.
type Files struct {
	Dir  string
	Read map[string]bool // the paths of what was read
}

// fileFunction reads a text file.
func fileFunction(files Files) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{stringParam("path")},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			src, err := files.text(args[0].AsString())
			return cty.StringVal(src), err
		},
	})
}

func (r Files) text(path string) (string, error) {
	full := path
	if !filepath.IsAbs(path) {
		full = filepath.Join(r.Dir, path)
	}
	src, err := source.ReadFile(full)
	if err != nil {
		return "", function.NewArgErrorf(0, "%s: %s", path, source.Reason(err))
	}
	r.Read[full] = true
	if len(src) > MaxValue || !utf8.Valid(src) {
		return "", function.NewArgErrorf(0, "%s is not UTF-8 text of at most %s bytes", path, strconv.Itoa(MaxValue))
	}
	return string(src), nil
}

// templateFile is Terraform's templatefile. Templates cannot call it themselves.
func templateFile(files Files, fs map[string]function.Function) function.Function {
	render := func(args []cty.Value) (cty.Value, error) {
		src, err := files.text(args[0].AsString())
		if err != nil {
			return cty.NilVal, err
		}
		path := args[0].AsString()
		tokens, _ := hclsyntax.LexTemplate([]byte(src), path, hcl.InitialPos)
		if source.TooDeep(tokens) != nil {
			return cty.NilVal, function.NewArgErrorf(0, "%s nests too deeply", path)
		}
		expr, diags := hclsyntax.ParseTemplate([]byte(src), path, hcl.InitialPos)
		if diags.HasErrors() {
			return cty.NilVal, function.NewArgErrorf(0, "%s", diags.Error())
		}
		Instrument(expr)
		vars := map[string]cty.Value{}
		if t := args[1].Type(); args[1].IsNull() || !t.IsObjectType() && !t.IsMapType() {
			return cty.NilVal, function.NewArgErrorf(1, "the variables of a template are a map")
		}
		for it := args[1].ElementIterator(); it.Next(); {
			k, v := it.Element()
			vars[k.AsString()] = v
		}
		v, diags := expr.Value(&hcl.EvalContext{Variables: vars, Functions: fs})
		if diags.HasErrors() {
			return cty.NilVal, function.NewArgErrorf(0, "%s", diags.Error())
		}
		v, err = convert.Convert(v, cty.String)
		return v, err
	}
	return function.New(&function.Spec{
		Params: []function.Parameter{stringParam("path"), {Name: "vars", Type: cty.DynamicPseudoType}},
		Type:   function.StaticReturnType(cty.String),
		Impl:   func(args []cty.Value, _ cty.Type) (cty.Value, error) { return render(args) },
	})
}
