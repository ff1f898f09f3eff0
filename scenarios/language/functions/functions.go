package functions

import (
	"fmt"
	"maps"
	"math/big"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
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
		"format": stdlib.FormatFunc, "formatlist": stdlib.FormatListFunc, "indent": stdlib.IndentFunc,
		"index": stdlib.IndexFunc, "int": stdlib.IntFunc, "join": stdlib.JoinFunc, "jsondecode": stdlib.JSONDecodeFunc,
		"jsonencode": stdlib.JSONEncodeFunc, "keys": stdlib.KeysFunc, "length": lengthFunction(), "log": stdlib.LogFunc,
		"lookup": stdlib.LookupFunc, "lower": stdlib.LowerFunc, "max": stdlib.MaxFunc, "merge": stdlib.MergeFunc,
		"min": stdlib.MinFunc, "parseint": stdlib.ParseIntFunc, "pow": stdlib.PowFunc, "range": stdlib.RangeFunc,
		"regex": stdlib.RegexFunc, "regexall": stdlib.RegexAllFunc, "replace": stdlib.ReplaceFunc,
		"reverse": stdlib.ReverseListFunc, "setintersection": stdlib.SetIntersectionFunc, "setproduct": stdlib.SetProductFunc,
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

		"cidrhost": ofPrefix(cidrHost, "hostnum"), "cidrsubnet": ofPrefix(cidrSubnet, "newbits", "netnum"), "cidrnetmask": ofPrefix(cidrNetmask),
		"file": texts(func(args []cty.Value) (string, error) { return files.Text(args[0].AsString()) }, stringParam("path")),
	}
	maps.Copy(out, pure())
	for name, check := range atOnce {
		out[name] = checked(out[name], check)
	}
	// These two decide for themselves whether to evaluate their arguments.
	out["try"], out["can"] = tryfunc.TryFunc, tryfunc.CanFunc
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

// texts is a function that returns a string.
func texts(f func(args []cty.Value) (string, error), params ...function.Parameter) function.Function {
	return function.New(&function.Spec{
		Params: params,
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			s, err := f(args)
			return cty.StringVal(s), err
		},
	})
}

// ofPrefix is a function of a prefix, and of numbers.
func ofPrefix(f func(p netip.Prefix, args []cty.Value) (fmt.Stringer, error), numbers ...string) function.Function {
	params := []function.Parameter{stringParam("prefix")}
	for _, name := range numbers {
		params = append(params, function.Parameter{Name: name, Type: cty.Number})
	}
	return texts(func(args []cty.Value) (string, error) {
		p, err := prefixArg(args)
		if err != nil {
			return "", err
		}
		out, err := f(p, args)
		if err != nil {
			return "", err
		}
		return out.String(), nil
	}, params...)
}

func prefixArg(args []cty.Value) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(args[0].AsString())
	if err != nil {
		return p, function.NewArgErrorf(0, "%q is not a CIDR", args[0].AsString())
	}
	return p.Masked(), nil
}

func stringParam(name string) function.Parameter {
	return function.Parameter{Name: name, Type: cty.String}
}

// Whole is a whole number that fits into 31 bits.
func Whole(v cty.Value) (int, bool) {
	f := v.AsBigFloat()
	n, _ := f.Int64()
	return int(n), f.IsInt() && n >= -1<<31 && n < 1<<31
}

// cidrHost is Terraform's cidrhost: the n-th address of a prefix, from the end when
// n is negative.
func cidrHost(p netip.Prefix, args []cty.Value) (fmt.Stringer, error) {
	n, ok := Whole(args[1])
	bits := p.Addr().BitLen() - p.Bits()
	if !ok || bits < 32 && (n >= 1<<bits || -n > 1<<bits) {
		return nil, function.NewArgErrorf(1, "%s has no host number %s", p, args[1].AsBigFloat().String())
	}
	if n < 0 {
		return addNumber(lastAddr(p), n+1, 0), nil
	}
	return addNumber(p.Addr(), n, 0), nil
}

// cidrSubnet is Terraform's cidrsubnet: the n-th subnet of a longer prefix.
func cidrSubnet(p netip.Prefix, args []cty.Value) (fmt.Stringer, error) {
	more, ok := Whole(args[1])
	if !ok || more < 0 || p.Bits()+more > p.Addr().BitLen() {
		return nil, function.NewArgErrorf(1, "%s cannot be extended by %s bits", p, args[1].AsBigFloat().String())
	}
	n, ok := Whole(args[2])
	if !ok || n < 0 || more < 32 && n >= 1<<more {
		return nil, function.NewArgErrorf(2, "there is no subnet %s of %d bits", args[2].AsBigFloat().String(), more)
	}
	bits := p.Bits() + more
	return netip.PrefixFrom(addNumber(p.Addr(), n, p.Addr().BitLen()-bits), bits), nil
}

func cidrNetmask(p netip.Prefix, _ []cty.Value) (fmt.Stringer, error) {
	if !p.Addr().Is4() {
		return nil, function.NewArgErrorf(0, "only IPv4 has netmasks")
	}
	return net.IP(net.CIDRMask(p.Bits(), 32)), nil
}

// addNumber adds n, shifted to the left, to an address. After the last address comes the first.
func addNumber(a netip.Addr, n, shift int) netip.Addr {
	return addBig(a, new(big.Int).Lsh(big.NewInt(int64(n)), uint(shift)))
}

func addBig(a netip.Addr, n *big.Int) netip.Addr {
	sum := new(big.Int).Add(new(big.Int).SetBytes(a.AsSlice()), n)
	sum.Mod(sum, power(a.BitLen()))
	out, _ := netip.AddrFromSlice(sum.FillBytes(make([]byte, a.BitLen()/8)))
	return out
}

func lastAddr(p netip.Prefix) netip.Addr {
	return addBig(addBig(p.Masked().Addr(), power(p.Addr().BitLen()-p.Bits())), big.NewInt(-1))
}

func power(bits int) *big.Int { return new(big.Int).Lsh(big.NewInt(1), uint(bits)) }

// Files reads the files that expressions name; a relative path starts in the
// scenario's folder.
type Files struct {
	source.Folders
	Opened map[string]bool // the paths of what was read
}

// Text is the text of a file.
func (r Files) Text(path string) (string, error) {
	src, err := r.Read(path)
	if err != nil {
		return "", function.NewArgErrorf(0, "%s: %s", path, source.Reason(err))
	}
	r.Note(path)
	if len(src) > MaxValue || !utf8.Valid(src) {
		return "", function.NewArgErrorf(0, "%s is not UTF-8 text of at most %s bytes", path, strconv.Itoa(MaxValue))
	}
	return string(src), nil
}

// Note notes that a file was read.
func (r Files) Note(path string) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.Dir, path)
	}
	r.Opened[path] = true
}

// inTemplate is what is wrong in the file of a template, with its place.
func inTemplate(diags hcl.Diagnostics) error {
	d := diags.Errs()[0].(*hcl.Diagnostic)
	summary, detail := source.Worded(d)
	if d.Subject == nil {
		return function.NewArgErrorf(0, "%s: %s", summary, detail)
	}
	return function.NewArgErrorf(0, "%s:%d: %s: %s", d.Subject.Filename, d.Subject.Start.Line, summary, strings.TrimSuffix(detail, "."))
}

// templateFile is Terraform's templatefile. Templates cannot call it themselves.
func templateFile(files Files, fs map[string]function.Function) function.Function {
	render := func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		path := args[0].AsString()
		src, err := files.Text(path)
		if err != nil {
			return cty.NilVal, err
		}
		tokens, _ := hclsyntax.LexTemplate([]byte(src), path, hcl.InitialPos)
		if source.TooDeep(tokens) != nil {
			return cty.NilVal, function.NewArgErrorf(0, "%s nests too deeply", path)
		}
		expr, diags := hclsyntax.ParseTemplate([]byte(src), path, hcl.InitialPos)
		if diags.HasErrors() {
			return cty.NilVal, inTemplate(diags)
		}
		SplatInstances(expr)
		if t := args[1].Type(); args[1].IsNull() || !t.IsObjectType() && !t.IsMapType() {
			return cty.NilVal, function.NewArgErrorf(1, "the variables of a template are a map")
		}
		v, diags := expr.Value(&hcl.EvalContext{Variables: args[1].AsValueMap(), Functions: fs})
		if diags.HasErrors() {
			return cty.NilVal, inTemplate(diags)
		}
		return convert.Convert(v, cty.String)
	}
	return function.New(&function.Spec{
		Params: []function.Parameter{stringParam("path"), {Name: "vars", Type: cty.DynamicPseudoType}},
		Type:   function.StaticReturnType(cty.String),
		Impl:   render,
	})
}
