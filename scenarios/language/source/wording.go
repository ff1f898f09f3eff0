package source

import (
	"regexp"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
)

// Worded is the summary and the detail of a diagnostic of HCL in our words: what is wrong, and
// what to write. HCL describes its grammar, with words of its own (argument, tuple, marker),
// and does not say what to do. A test finds what its sources can say and this table does not.
func Worded(d *hcl.Diagnostic) (summary, detail string) {
	said := d.Summary + "\n" + d.Detail
	for _, w := range compiled() {
		if m := w.said.FindStringSubmatchIndex(said); m != nil {
			expand := func(text string) string { return string(w.said.ExpandString(nil, text, said, m)) }
			return expand(w.ours), reason.Replace(expand(w.text))
		}
	}
	return d.Summary, d.Detail
}

// reason rewords what HCL embeds: types have other names in a file.
var reason = strings.NewReplacer(" is tuple", " is list", " but have tuple", " not list", " but have", " not", "; given string must be a decimal representation of a number", "")

type compiledWording struct {
	wording
	said *regexp.Regexp
}

// compiled is the table of wordings; a scenario without mistakes never needs it.
var compiled = sync.OnceValue(func() []compiledWording {
	var out []compiledWording
	for _, w := range wordings {
		out = append(out, compiledWording{w, regexp.MustCompile("^(?s:" + w.summary + ")\n(?s:" + w.detail + ")")})
	}
	return out
})

// wording is what HCL says, as regular expressions of its summary and the beginning of its
// detail, and what we say. ${1} is what the first parentheses match, and $$ a dollar sign.
type wording struct{ summary, detail, ours, text string }

const (
	notClosed = "Check the brackets and quotes inside, too."
	oneType   = "Write both as text, as numbers, as lists of equal length or as objects with the same attributes."
	template  = "For the characters themselves write $$$${."
)

var wordings = []wording{
	// Blocks and attributes (hclsyntax/parser.go).
	{`Argument or block definition required`, `.*To set an argument`, "Equals sign missing", `An attribute is a name, "=" and a value; a block is a name, a label in quotes and braces. Write NAME = VALUE, or NAME { … }.`},
	{`Argument or block definition required`, ``, "Attribute or block expected", `Here stands neither an attribute nor a block. Write NAME = VALUE or NAME { … }, and check for a bracket or quote too many before it.`},
	{`Argument definition required`, `.*argument "(.*?)"`, "Block inside a line", `A block on one line holds one attribute and no block. Begin a new line before ${1}.`},
	{`Missing newline after argument`, ``, "Line break missing", `An attribute ends with its line. Begin a new line here, or put text into quotes.`},
	{`Unexpected comma after argument`, ``, "Comma after attribute", `Attributes are separated by line breaks. Remove the comma, and begin a new line.`},
	{`Invalid block definition`, `The equals sign`, "Block with equals sign", `After its label a block begins without an equals sign. Remove "=".`},
	{`Invalid block definition`, `A block definition must`, "Brace or equals sign missing", `After the name of a block comes "{" on the same line, and after that of an attribute "=". Write NAME { … }, or NAME = VALUE.`},
	{`Invalid block definition`, `Either a quoted`, "Label or brace expected", `After the name of a block comes its label in quotes, or "{". Write NAME "LABEL" { … }, or NAME = VALUE for an attribute.`},
	{`Invalid single-argument block definition`, `Single-line block`, "Several attributes on one line", `A block on one line holds one attribute. Write each attribute on a line of its own.`},
	{`Invalid single-argument block definition`, ``, "Block not closed on line", `A block whose first attribute is on the line of its brace ends on that line. Close it there with "}", or begin the attribute on a new line.`},
	{`Unclosed configuration (block|body)`, ``, "Block not closed", `The closing brace of this block is missing. Add "}" where it ends. ` + notClosed},
	{`Missing newline after block definition`, ``, "Line break missing", `A block ends with its line. Begin a new line after its closing brace.`},
	{`Attribute redefined`, `The argument "(.*?)" was already set at .*:(\d+),`, "Attribute given twice", `${1} is given on line ${2} already. Remove one of them.`},
	{`Attribute redefined`, ``, "Attribute given twice", `This attribute is given already. Remove one of them.`},
	{`Invalid argument name`, ``, "Name in quotes", `The name of an attribute has no quotes. Write it without them.`},

	// Expressions (hclsyntax/parser.go).
	{`Missing false expression in conditional`, ``, "Condition without second value", `A condition has two values. Write CONDITION ? VALUE : VALUE.`},
	{`Invalid legacy index syntax`, ``, "Index with dots", `Two indexes cannot follow each other with dots. Write them in brackets, like list[0][1].`},
	{`Nested splat expression not allowed`, ``, "Splat inside a splat", `A splat with a dot cannot hold another one. Use a for expression: [for x in list : x.name].`},
	{`Invalid attribute name`, ``, "Name missing after dot", `After a dot comes a name. Add it, or remove the dot.`},
	{`Missing close bracket on (splat )?index`, ``, "Bracket not closed", `The bracket of this index is not closed. Add "]".`},
	{`Unbalanced parentheses`, ``, "Parenthesis not closed", `The parenthesis is not closed. Add ")". ` + notClosed},
	{`Missing expression`, ``, "Value missing", `The file ends where a value must stand. Add the value.`},
	{`Invalid expression`, `Expected the start`, "Value expected", `Here must stand a value: text in quotes, a number, true or false, a list, a map or a reference such as node.node1. Write one.`},
	{`Invalid expression`, `A single static`, "Reference expected", `Here must stand a reference, without calculations or functions. Write it like node.node1.`},
	{`Invalid expression`, `A static (\w+)`, "Fixed ${1} expected", `Here must stand a fixed value, without references. Write it out.`},
	{`Invalid number literal`, ``, "Invalid number", `This is not a number. Write it like 80 or 0.5, and text in quotes.`},
	{`Missing (function name|open parenthesis)`, ``, "Invalid function call", `A function is called by its name and parentheses, without "::". Write NAME(…).`},
	{`Missing closing parenthesis`, ``, "Parenthesis not closed", `After "..." a call ends. Add ")".`},
	{`Unterminated function call`, ``, "Call not closed", `The closing parenthesis of this call is missing. Add ")". ` + notClosed},
	{`Missing argument separator`, ``, "Comma missing", `The arguments of a function are separated by commas. Add one here.`},
	{`Unterminated tuple constructor expression`, ``, "List not closed", `The closing bracket of this list is missing. Add "]". ` + notClosed},
	{`Missing item separator`, ``, "Comma missing", `The elements of a list are separated by commas, also across lines. Add one here, or close the list with "]".`},
	{`Missing attribute value`, ``, "Value missing", `A key of a map needs a value. Write { KEY = VALUE }.`},
	{`Missing key/value separator`, ``, "Equals sign missing", `A key of a map needs "=" and a value. Write { KEY = VALUE }; a key with dots or spaces stands in quotes.`},
	{`Unterminated object constructor expression`, ``, "Map not closed", `The closing brace of this map is missing. Add "}". ` + notClosed},
	{`Missing attribute separator`, ``, "Comma missing", `The elements of a map are separated by commas or line breaks. Add one here, or close the map with "}".`},
	{`Invalid 'for' expression`, `For expression requires (value )?variable name`, "Name missing after for", `A for expression names what it goes over. Write [for x in list : x], or { for k, v in map : k => v }.`},
	{`Invalid 'for' expression`, `For expression requires the 'in'`, "Word in missing", `After its names a for expression needs "in". Write [for x in list : x].`},
	{`Invalid 'for' expression`, `For expression requires a colon`, "Colon missing", `After the list a for expression needs a colon. Write [for x in list : x].`},
	{`Invalid 'for' expression`, `Extra characters`, "For expression goes on", `The for expression ends here, and something follows. Close its bracket before, or remove what follows.`},
	{`Invalid 'for' expression`, `Key expression is not valid`, "Key in a list", `A for expression in [ ] makes a list, which has no keys. Remove "KEY =>", or use { } for a map.`},
	{`Invalid 'for' expression`, `Grouping`, "Grouping in a list", `Only a map can be grouped. Remove "...", or use { for … : KEY => VALUE... }.`},
	{`Invalid 'for' expression`, `Key expression is required`, "Key missing", `A for expression in { } makes a map, which needs keys. Write { for k, v in map : k => v }, or use [ ] for a list.`},
	{`Invalid string literal`, `Template sequences`, "Expression in fixed text", `This text is fixed, so that it cannot hold an expression. Write it out. ` + template},
	{`Invalid string literal`, ``, "Text in quotes expected", `Here must stand text in quotes. Write it like "web".`},
	{`Unterminated (string literal|template string)`, ``, "Text not closed", `The end of this text is missing. Add the closing quote, or the word that ends a text of several lines, alone on its line.`},
	{`Invalid escape sequence`, ``, "Invalid escape", `A backslash begins one of \n, \r, \t, \", \\, \u with 4 digits and \U with 8. Write \\ for a backslash.`},

	// Templates (hclsyntax/parser_template.go).
	{`Unexpected end of template`, ``, "Template not closed", `%{ if } needs %{ endif }, and %{ for } needs %{ endfor }. Add what is missing.`},
	{`Unexpected .* directive`, ``, "Template out of order", `This does not belong to the %{ if } or %{ for } before it. Close that first, or remove this.`},
	{`Unclosed template interpolation sequence`, ``, "Expression in text not closed", `An expression in text ends with a brace. Add "}". ` + template},
	{`Extra characters after interpolation expression`, ``, "Expression in text goes on", `Between $${ and } stands one expression, and something follows it. Remove that. ` + template},
	{`Invalid template (directive|control keyword)`, ``, "Unknown template word", `After %{ comes if, else, endif, for or endfor. Write one of them, or %%{ for the characters themselves.`},
	{`Invalid 'for' directive`, ``, "Invalid for in template", `A template repeats with %{ for x in list } … %{ endfor }. Write it like that.`},
	{`Extra characters in .* marker`, ``, "Template goes on", `Something follows before the closing brace. Remove it, or add "}" before it.`},

	// References (hclsyntax/parser_traversal.go), and what follows a value.
	{`Variable name required|Attribute name required|Unclosed index brackets|Index value required`, ``, "Invalid reference", `A reference is names with dots, and keys in brackets. Write it like pod.web[0].ip.`},
	{`Invalid character`, `Expected an attribute access`, "Invalid reference", `A reference is names with dots, and keys in brackets. Write it like pod.web[0].ip.`},
	{`Extra characters after expression`, ``, "Value goes on", `The value ends here, and something follows. Remove it, or put text into quotes.`},

	// Characters (hclsyntax/token.go).
	{`Unsupported operator`, `Bitwise`, "Unknown operator", `There are no operators of bits. Write && for and, || for or, and ! for not.`},
	{`Unsupported operator`, ``, "Unknown operator", `There is no operator **. Write pow(a, b).`},
	{`Invalid character`, "The \"`\"", "Backquote", "Text stands in double quotes, or between <<EOT and EOT if it has several lines. Replace the character \"`\"."},
	{`Invalid character`, `Single quotes`, "Single quote", `Text stands in double quotes. Write "…".`},
	{`Invalid character`, `The ";"`, "Semicolon", `Attributes and blocks are separated by line breaks, elements of lists by commas. Remove the semicolon.`},
	{`Invalid character`, `Tab`, "Tab", `A tab cannot stand here. Write spaces.`},
	{`Invalid character`, `"Curly`, "Curly quote", `Curly quotes come from text processors; here text stands in straight ones. Write "…".`},
	{`Invalid character`, ``, "Unknown character", `This character has no meaning here. Remove it, or put text into quotes.`},
	{`Invalid character encoding`, ``, "Not a text file", `This is not UTF-8 text. Save the file in that encoding.`},
	{`Invalid multi-line string`, ``, "Text across lines", `Text in quotes ends on its line. Write \n for a line break, or put the lines between <<EOT and EOT.`},

	// What a block may hold (hclsyntax/structure.go, ops of package hcl).
	{`Unsupported argument`, `An argument named "(.*?)"`, "Unknown attribute", `There is no attribute "${1}" here. Remove it.`},
	{`Unsupported block type`, `Blocks of type "(.*?)"`, "Unknown block", `There is no block "${1}" here. Remove it.`},
	{`Missing required argument`, `The argument "labels"`, "Label missing", `The blocks that this makes need their label. Add labels = [KIND.key], where KIND is the kind of block.`},
	{`Missing required argument`, `The argument "(.*?)"`, "Missing attribute", `The attribute ${1} is missing. Add ${1} = ….`},
	{`Extraneous label for (\S+)`, `No labels`, "Label too many", `A ${1} block has no label. Write ${1} { … }.`},
	{`Extraneous label for (\S+)`, ``, "Label too many", `A ${1} block has one label. Write ${1} "NAME" { … }.`},
	{`Missing \w+ for dynamic`, ``, "Label missing", `A dynamic block says which blocks it makes. Write dynamic "KIND" { … }.`},
	{`Missing \w+ for (\S+)`, ``, "Label missing", `A ${1} block needs a label, which is its name. Write ${1} "NAME" { … }.`},
	{`Unexpected "(.*?)" block`, ``, "Block not allowed", `Here stand attributes only. Write ${1} = …, or remove the block.`},
	{`Duplicate argument`, ``, "Attribute given twice", `This attribute is given already. Remove one of them.`},

	// Values of expressions (hclsyntax/expression.go and others).
	{`Function calls not allowed`, ``, "Fixed value expected", `Here must stand a fixed value, without functions. Write it out.`},
	{`Variables not allowed`, ``, "Fixed value expected", `Here must stand a fixed value, without references. Write it out; text stands in quotes.`},
	{`Unknown variable`, `There is no variable named "(.*?)"`, "Unknown reference", `There is no "${1}" here. Put text into quotes: "${1}".`},
	{`Call to unknown function`, ``, "Unknown function", `There is no such function. Remove the call.`},
	{`Invalid expanding argument value`, ``, "Wrong function argument", `What stands before "..." must be a list. Use a list, or remove the dots.`},
	{`Not enough function arguments`, `Function "(.*?)".* Missing value for "(.*?)"`, "Function argument missing", `${1} needs its argument "${2}". Add it.`},
	{`Too many function arguments`, `Function "(.*?)" expects only (\d+)`, "Too many function arguments", `${1} is given too many arguments: it takes ${2}. Remove the others.`},
	{`Invalid function argument`, `Invalid value for "(.*?)" parameter: (.*?)\.?$`, "Wrong function argument", `This argument is wrong: ${2}. Correct it.`},
	{`Error in function call`, `Call to function "(\w+)" failed: no expression succeeded`, "No value", `No argument of ${1} has a value. End with one that always has, such as null.`},
	{`Error in function call`, `Call to function "(.*?)" failed: (.*?)\.?$`, "Wrong function argument", `${1} cannot be calculated: ${2}. Change its arguments.`},
	{`Inconsistent conditional result types`, `.*?The 'true' value is (.*?), but the 'false' value is (.*?)\.$`, "Values of two types", `The values of a condition must be of one type, but the first is ${1} and the second is ${2}. ` + oneType},
	{`Inconsistent conditional result types`, ``, "Values of two types", `The two values of a condition must be of one type. ` + oneType},
	{`Null condition`, ``, "Condition is null", `A condition must be true or false, not null. Compare the value with something.`},
	{`Incorrect condition type`, ``, "Condition is no bool", `A condition must be true or false. Compare the value with something.`},
	{`Null value as key`, ``, "Key is null", `A key of a map must be text, not null. Write a key in quotes.`},
	{`Incorrect key type`, ``, "Key is no text", `A key of a map must be text. Write one in quotes, or an expression in parentheses.`},
	{`Ambiguous attribute key`, ``, "Key with dots", `A key with dots is a name or a reference. Put a name into quotes, and a reference into parentheses.`},
	{`Iteration over null value`, ``, "Nothing to go over", `A for expression cannot go over null. Use a list or a map, or coalesce(…, []).`},
	{`Iteration over non-iterable value`, `A value of type (.*?) cannot`, "Nothing to go over", `A for expression goes over a list, a set or a map, not over a ${1}. Use one of them, such as [value].`},
	{`Condition is null|Invalid 'for' condition`, ``, "Condition is no bool", `What stands after "if" must be true or false. Compare the value with something.`},
	{`Invalid object key`, ``, "Key is no text", `The key of a for expression must be text. Use tostring(…), or something that is not null.`},
	{`Duplicate object key`, `.*the key "(.*?)"`, "Key made twice", `Two elements make the key "${1}". Make the keys different, or write "..." after the value to get a list of values for each key.`},
	{`Splat of null value`, ``, "Splat of null", `A splat goes over a list, not over null. Use a list, or coalesce(…, []).`},
	{`Invalid nested splat expressions`, ``, "Splat inside a splat", `The elements are of different types, so that they make no list. Use a for expression: [for x in list : x.name].`},
	{`Invalid operand`, `Unsuitable value for (\w+) operand: (.*?)\.?$`, "Operator and value differ", `The operator cannot be used with its ${1} value: ${2}. Change the value, or use another operator.`},
	{`Operation failed`, `Error during operation: (.*?)\.?$`, "Operator fails", `The result of the operator cannot be calculated: ${1}. Change the values.`},
	{`Invalid template interpolation value`, `(The expression|An iteration) result is null`, "Null in text", `The expression in this text is null. Use coalesce(…, "").`},
	{`Invalid template interpolation value`, ``, "No text", `The expression in this text is a list, a map or an object. Use join(", ", …), jsonencode(…) or one of its elements.`},

	// Indexes and attributes of values (ops.go).
	{`Attempt to index null value|Attempt to get attribute from null value`, ``, "Value is null", `This value is null, so that it has no elements or attributes. Use another one, or try(…, null).`},
	{`Invalid index`, `Can't use a null value`, "Index is null", `An index must be a number or a key, not null. Use another one.`},
	{`Invalid index`, `Elements of a set`, "Index of a set", `The elements of a set have no index. Use tolist(…)[0], or a for expression.`},
	{`Invalid index`, `This value does not have`, "Value without elements", `This value has no elements. Use it without the index.`},
	{`Invalid index`, ``, "No such element", `There is no element with this index. Use one that exists; the first is [0].`},
	{`Missing map element`, `.*the key "(.*?)"`, "No such element", `The map has no key "${1}". Use one that it has, or lookup(map, "${1}", null).`},
	{`Unsupported attribute`, `This object does not have an attribute named "(.*?)"`, "Unknown reference", `The object has no "${1}". Use an attribute that it has.`},
	{`Unsupported attribute`, `Can't access attributes on a (list|set)`, "Attribute of a ${1}", `A ${1} has no attributes, but its elements have. Use a splat, [*], or one element.`},
	{`Unsupported attribute`, ``, "Unknown reference", `This value has no attributes. Use it as it is.`},
	{`Invalid path step`, ``, "Invalid reference", `This reference is not understood. Write it like pod.web[0].ip.`},

	// JSON (json/parser.go, structure.go).
	{`Extraneous data after value`, ``, "JSON goes on", `Something follows the JSON value. Remove it.`},
	{`Missing JSON value|Missing array element value|Missing value|Invalid start of value`, ``, "JSON value expected", `Here must stand a JSON value: text in quotes, a number, true, false, null, { … } or [ … ]. Write one.`},
	{`Invalid object property name`, ``, "JSON key expected", `A key of a JSON object is text in quotes. Write "KEY": VALUE.`},
	{`Missing object value|Missing property value colon`, ``, "Colon missing", `In JSON a colon stands between key and value. Write "KEY": VALUE.`},
	{`Trailing comma in (object|array)`, ``, "Comma too many", `In JSON no comma stands before the closing bracket. Remove it.`},
	{`Unclosed object`, ``, "Bracket not closed", `The closing bracket is missing. Add it. ` + notClosed},
	{`Mismatched (braces|brackets)`, ``, "Brackets do not match", `A "{" is closed by "}", and a "[" by "]". Correct one of them.`},
	{`Missing attribute seperator comma`, ``, "Comma missing", `In JSON elements are separated by commas. Add one here.`},
	{`Invalid array value`, ``, "Colon in a list", `A JSON list has no keys. Remove the colon, or use { } for an object.`},
	{`Invalid JSON (number|string)`, ``, "Invalid JSON ${1}", `This is not a ${1} of JSON. Write it as JSON does.`},
	{`Invalid JSON keyword`, ``, "Invalid JSON word", `The words of JSON are true, false and null. Use one of them, or put text into quotes.`},
	{`Root value must be object`, ``, "JSON without object", `A scenario in JSON is one object. Begin with { "node": { "node1": {} } }.`},
	{`Failed to (open|close|read) file`, ``, "Cannot read scenario", `The file cannot be read. Name one that you can read.`},
	{`Extraneous JSON object property`, `No argument or block type is named "(.*?)"`, "Unknown property", `There is no "${1}" here. Remove it.`},
	{`Duplicate attribute definition`, `The argument "(.*?)"`, "Attribute given twice", `${1} is given already. Remove one of them.`},
	{`Missing block label`, `.*represents the (\S+) block's`, "Label missing", `A ${1} block needs a label, which is its name. Write "${1}": { "NAME": { … } }.`},
	{`Incorrect JSON value type`, ``, "JSON object expected", `Here must stand the content of a block. Write { … }, or [{ … }, { … }] for several.`},
	{`Invalid object key expression`, ``, "Key is no text", `A key must be text, not another value or null. Change the expression in it.`},
	{`Duplicate object attribute`, `An attribute named "(.*?)"`, "Key given twice", `The key "${1}" is given already. Remove one of them.`},

	// Dynamic blocks (ext/dynblock).
	{`Invalid dynamic iterator name`, ``, "Invalid iterator", `The iterator must be a single name. Write iterator = item.`},
	{`Invalid dynamic for_each value`, `Cannot use a null`, "Nothing to go over", `for_each must not be null. Use [] for no blocks.`},
	{`Invalid dynamic for_each value`, ``, "Nothing to go over", `for_each must be a list, a set or a map. Use one of them, such as [value].`},
	{`(Extraneous|Insufficient) dynamic block labels?`, `Blocks of type "(.*?)" require (\d)`, "Wrong number of labels", `A ${2} block has this number of labels: ${3}. Write labels with so many elements, or leave it out for none.`},
	{`Missing dynamic content block`, ``, "Dynamic block without content", `A dynamic block needs one content block. Add content { … }.`},
	{`Extraneous dynamic content block`, ``, "Two content blocks", `A dynamic block has one content block. Merge them.`},
	{`Invalid dynamic block label`, ``, "Invalid dynamic label", `A label must be text that is known. Change the expression in labels.`},

	// Types of variables (ext/typeexpr).
	{`Invalid type specification`, `The (\w+) type constructor requires one argument specifying the element`, "Invalid type", `A type of elements is missing. Write ${1}(string), for example.`},
	{`Invalid type specification`, `.*(Object constructor|object type constructor|Object type constructor)`, "Invalid type", `An object type lists each attribute once, with its type. Write object({ name = string, port = number }).`},
	{`Invalid type specification`, `.*(tuple type constructor|Tuple type constructor)`, "Invalid type", `A tuple type lists the types of its elements. Write tuple([string, number]).`},
	{`Invalid type specification`, `.*keyword "(.*?)" does not expect`, "Invalid type", `${1} takes no argument. Write type = ${1}.`},
	{`Invalid type specification`, `.*[Oo]ptional`, "Invalid type", `optional stands in an object type, with a type and perhaps a default. Write object({ port = optional(number, 80) }).`},
	{`Invalid type specification`, `The keyword "(.*?)" cannot`, "Invalid type", `${1} is not exact enough here. Use string, number, bool, list(…), set(…), map(…), object({…}) or tuple([…]).`},
	{`Invalid type specification`, ``, "Invalid type", `This is not a type. Use string, number, bool, any, list(…), set(…), map(…), object({…}) or tuple([…]).`},
	{`Invalid default value for optional attribute`, ``, "Default of another type", `The default does not have the type of its attribute. Change one of them.`},
}
