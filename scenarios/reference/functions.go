package reference

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/scenarios/language"
	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/scenarios/language/functions"
)

// References is the path of the page of what expressions can refer to.
const References = "references"

// references are what expressions can refer to, with what each has.
func references() [][2]string {
	has := language.Attributes(datapath.Catalogue())
	list := [][2]string{{"var.NAME", "the value of a variable"}, {"local.NAME", "a value of locals"}}
	for _, kind := range blocks.SettingKinds {
		list = append(list, [2]string{kind, strings.Join(has[kind], ", ")})
	}
	for _, kind := range blocks.ObjectKinds {
		if has[kind] != nil {
			list = append(list, [2]string{kind + ".NAME", strings.Join(has[kind], ", ")})
		}
	}
	return append(list, [2]string{"each.key, each.value", "in a block with for_each"}, [2]string{"count.index", "in a block with count"},
		[2]string{"each.from", "in the source of an expect: the dialer"})
}

// ReferencesText lists what expressions can refer to.
func ReferencesText() string {
	var b strings.Builder
	b.WriteString("What expressions can refer to, and what it has:\n\n")
	for _, r := range references() {
		fmt.Fprintf(&b, "  %s\n%s", r[0], fold(r[1], 6))
	}
	b.WriteString(`
With count, an object is pod.web[0], with for_each pod.web["a"]; all of them are
pod.web[*]. A service as a target is its cluster IP; the address of its load
balancer is addr(service.web.load_balancer_ip, 80).
`)
	return b.String()
}

// signatures are all functions with their parameters, sorted.
func signatures() []string {
	all := functions.New(functions.Files{})
	var out []string
	for _, name := range functions.Names(all) {
		f := all[name]
		var params []string
		for _, p := range f.Params() {
			params = append(params, p.Name)
		}
		if p := f.VarParam(); p != nil {
			params = append(params, p.Name+"…")
		}
		out = append(out, name+"("+strings.Join(params, ", ")+")")
	}
	slices.Sort(out)
	return out
}

// FunctionsText lists what expressions can call.
func FunctionsText() string {
	return `Functions have the names and meanings that they have in Terraform;
addr(ip, port) is "IP:PORT", with brackets around IPv6. None reads a clock or
the environment, and none is random.

  ` + strings.Join(signatures(), "\n  ") + "\n"
}
