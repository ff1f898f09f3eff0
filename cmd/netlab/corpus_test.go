//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const tooMuch = "Too much to evaluate"

func times(n int, text string) string { return strings.Repeat(text, n) }

// hostileValues are what takes minutes or all memory to evaluate, one or more of each kind. What
// is wanted names the local value x, on line 4 of its file.
var hostileValues = map[string]struct{ before, x, want string }{
	"exponent in text":          {x: `"a${1e300000000}"`, want: tooMuch},
	"exponent in format":        {x: `format("%d", 1e300000000)`, want: tooMuch},
	"exponent in %":             {x: `[for i in range(40) : 1e300000000 % (7 + i)]`, want: tooMuch}, // one alone may be over before anybody looks
	"exponent in cidrhost":      {x: `cidrhost("10.0.0.0/8", 1e300000000)`},
	"exponent as key":           {x: `{ (1e300000000) = 1 }`, want: tooMuch},
	"exponent in jsonencode":    {x: `jsonencode(1e300000000)`, want: tooMuch},
	"exponent in yamldecode":    {x: `"${yamldecode("1e300000000")}"`},
	"exponent in toset":         {x: `toset([1e300000000, 2])`, want: tooMuch},
	"exponent in range":         {x: `range(1e300000000)`},
	"exponent in floor":         {x: `floor(1e-300000000)`},
	"exponent made by pow":      {x: `"${pow(pow(10, 100000), 1000)}"`},
	"aliases in YAML":           {x: `yamldecode(` + aliases() + `)`, want: tooMuch},
	"deep flow YAML":            {x: `yamldecode("` + times(100_000, "[") + times(100_000, "]") + `")`, want: tooMuch},
	"deep block YAML":           {x: `yamldecode("` + times(100_000, "- ") + `1")`},
	"deep JSON":                 {x: `jsondecode("` + times(9000, "[") + times(9000, "]") + `")`},
	"distinct":                  {before: many, x: `distinct(local.many)`, want: tooMuch},
	"setsubtract":               {before: many, x: `setsubtract([for s in local.many : { a = s }], [for s in local.many : { a = "x${s}" }])`, want: tooMuch},
	"setintersection":           {before: many, x: `setintersection([for s in local.many : [s]], [for s in local.many : [s, s]])`, want: tooMuch},
	"setproduct":                {before: many, x: `setproduct(local.many, local.many)`, want: "more than 100000 elements"},
	"index in a loop":           {before: many, x: `[for s in local.many : index(local.many, s)]`, want: tooMuch},
	"regexall over long text":   {before: long, x: `[for i in range(1000) : regexall("(a|aa|aaa)*b", local.long)]`, want: tooMuch},
	"large regular expression":  {before: long, x: `regex("((((a{0,50}){0,20})))*b", local.long)`, want: tooMuch},
	"nested loops":              {x: `[for a in range(1000) : [for b in range(1000) : [for c in range(1000) : c]]]`, want: tooMuch},
	"nested loops in a text":    {x: `"%{for a in range(1000)}%{for b in range(1000)}%{for c in range(1000)}x%{endfor}%{endfor}%{endfor}"`, want: tooMuch},
	"loop of errors":            {x: `[for a in range(1000) : [for b in range(1000) : [for c in range(1000) : c.d]]]`, want: tooMuch},
	"loop inside try":           {x: `[for a in range(1000) : [for b in range(1000) : try([for c in range(1000) : c.d], 1)]]`, want: tooMuch},
	"replace that grows":        {before: long, x: `replace(local.long, "a", local.long)`, want: "the text would be larger"},
	"join that grows":           {before: long, x: `join(local.long, [for i in range(1000) : "a"])`, want: "the text would be larger"},
	"hashes in a loop":          {before: long, x: `[for i in range(1000) : [for j in range(100) : sha512(local.long)]]`, want: tooMuch},
	"width":                     {x: `format("%999999999999d", 1)`, want: "widths are limited"},
	"precision":                 {x: `format("%.999999999f", 1)`, want: "widths are limited"},
	"indent":                    {x: `indent(999999999999, "a\nb")`, want: "indents are limited"},
	"parentheses":               {x: times(50_000, "("), want: "Nested too deeply"},
	"minus signs":               {x: times(50_000, "-") + "1", want: "Nested too deeply"},
	"splats":                    {x: "[1]" + times(20_000, "[*]"), want: "Nested too deeply"},
	"splats of a splat":         {x: "[1]" + times(190, "[*]")},
	"conditions":                {x: times(10_000, "true ? 1 : ") + "1", want: "Nested too deeply"},
	"parentheses of a regexp":   {x: `regex("` + times(20_000, "(") + times(20_000, ")") + `", "a")`},
	"objects that are compared": {before: many, x: `[for s in local.many : contains([for t in local.many : { a = t }], { a = s })]`, want: tooMuch},
}

const (
	many = `many = flatten([for a in range(1000) : [for b in range(5) : "${a}-${b}"]])`
	long = `long = join("", [for a in range(1000) : "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"])`
)

// aliases is a YAML text that is 9 bytes of x to the power of 9.
func aliases() string {
	text := `a0: &a0 [x,x,x,x,x,x,x,x,x]\n`
	for i := range 9 {
		text += fmt.Sprintf(`a%d: &a%d [%s*a%d]\n`, i+1, i+1, times(8, fmt.Sprintf("*a%d,", i)), i)
	}
	return `"` + text + `"`
}

// hostileBlocks are what is evaluated elsewhere than in a local value.
var hostileBlocks = map[string]string{
	"for_each":   `node "n" { for_each = toset([1e300000000]) }`,
	"attribute":  `node "n" { labels = { a = 1e300000000 } }`,
	"default":    "variable \"x\" {\n  default = 1e300000000\n  type = string\n}",
	"validation": "variable \"x\" {\n  default = 1\n  validation {\n    condition = \"a${1e300000000}\" == \"1\"\n    error_message = \"x\"\n  }\n}\nnode \"n\" {}",
	"dynamic":    "node \"n\" {}\npod \"p\" {\n  dynamic \"port\" {\n    for_each = toset([\"a${1e300000000}\"])\n    labels = [\"a\"]\n    content { port = 1 }\n  }\n}",
}

// hostileFile is a file that must be refused: what it is made of, and what is said about which
// place.
type hostileFile struct {
	text, want, at string
}

// invalid makes every file of the corpus one that no verb goes on with.
const invalid = "\nnode \"wrong\" { labels = nothing.here }\n"

// everywhere are files of each kind that every verb is given; the others go to one of them.
var everywhere = []string{"exponent in text", "aliases in YAML", "deep flow YAML", "distinct", "regexall over long text", "nested loops", "parentheses", "width", "dynamic"}

// corpus are all hostile files by name.
func corpus() map[string]hostileFile {
	all := map[string]hostileFile{}
	for name, c := range hostileValues {
		all[name] = hostileFile{fmt.Sprintf("node \"n\" {}\nlocals {\n  %s\n  x = %s\n}\n", c.before, c.x) + invalid, c.want, "a.hcl:4:"}
	}
	for name, text := range hostileBlocks {
		all[name] = hostileFile{text + invalid, tooMuch, "a.hcl:"}
	}
	return all
}

// secret is in a file that a stranger's folder leads to.
const secret = "root:$6$hidden:19000:0:99999:7:::"

// hostileFolders are what a stranger can make of a file a.hcl in a folder, besides text.
var hostileFolders = map[string]func(t *testing.T, file string){
	"pipe": func(t *testing.T, file string) { fine(t, unix.Mkfifo(file, 0o666)) },
	"link to a pipe": func(t *testing.T, file string) {
		fine(t, unix.Mkfifo(file+".hcl", 0o666))
		fine(t, os.Symlink(file+".hcl", file))
	},
	"socket":                   func(t *testing.T, file string) { fine(t, unix.Mknod(file, unix.S_IFSOCK|0o666, 0)) },
	"link to a device":         func(t *testing.T, file string) { fine(t, os.Symlink("/dev/zero", file)) },
	"link to the kernel's log": func(t *testing.T, file string) { fine(t, os.Symlink("/proc/kmsg", file)) },
	"link to a secret":         func(t *testing.T, file string) { fine(t, os.Symlink(elsewhere(t, "shadow"), file)) },
	"link to another scenario": func(t *testing.T, file string) { fine(t, os.Symlink(elsewhere(t, "other.hcl"), file)) },
	"link to a folder":         func(t *testing.T, file string) { fine(t, os.Symlink(filepath.Dir(elsewhere(t, "other.hcl")), file)) },
	"link to itself":           func(t *testing.T, file string) { fine(t, os.Symlink(file, file)) },
	"folder":                   func(t *testing.T, file string) { fine(t, os.Mkdir(file, 0o777)) },
	"large file": func(t *testing.T, file string) {
		fine(t, os.WriteFile(file, nil, 0o666))
		fine(t, os.Truncate(file, 3<<30))
	},
	"variables in a pipe": func(t *testing.T, file string) {
		fine(t, os.WriteFile(file, []byte("node \"n\" {}\n"+invalid), 0o666))
		fine(t, unix.Mkfifo(filepath.Join(filepath.Dir(file), "x.auto.vars.hcl"), 0o666))
	},
	"the kernel's log as text": func(t *testing.T, file string) {
		fine(t, os.WriteFile(file, []byte("locals { x = file(\"/proc/kmsg\") }\n"+invalid), 0o666))
	},
	"a pipe as text": func(t *testing.T, file string) {
		fine(t, unix.Mkfifo(filepath.Join(filepath.Dir(file), "pipe"), 0o666))
		fine(t, os.WriteFile(file, []byte("locals { x = templatefile(\"pipe\", {}) }\n"+invalid), 0o666))
	},
	"a secret as text": func(t *testing.T, file string) {
		fine(t, os.WriteFile(file, []byte(fmt.Sprintf("locals { x = file(%q) }\n", elsewhere(t, "shadow"))+invalid), 0o666))
	},
}

// elsewhere is a file with a secret outside of the stranger's folder, which nobody may format.
func elsewhere(t *testing.T, name string) string {
	file := filepath.Join(t.TempDir(), name)
	text := fmt.Sprintf("  x   =   %q\n", secret)
	fine(t, os.WriteFile(file, []byte(text), 0o666))
	t.Cleanup(func() {
		if now, err := os.ReadFile(file); err != nil || string(now) != text {
			t.Errorf("%s was changed: %q, %v", name, now, err)
		}
	})
	return file
}

func fine(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
