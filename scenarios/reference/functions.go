package reference

import (
	"slices"
	"strings"

	"github.com/netlab/netlab/scenarios/language/functions"
)

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
