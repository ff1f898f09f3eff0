package reports

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// tableWidth is what tables keep to, with room for an indent on a terminal of 80 columns.
const tableWidth = 76

// gap is what separates columns.
const gap = 2

// fits reports whether columns fit beside the first one.
func fits(first int, widths []int) bool {
	for _, w := range widths {
		first += gap + w
	}
	return first <= tableWidth
}

// fold splits columns into groups that fit beside the first one, which each repeats.
func fold(first int, widths []int) (groups [][2]int) {
	for from := 0; from < len(widths); {
		to := from + 1
		for to < len(widths) && fits(first, widths[from:to+1]) {
			to++
		}
		groups = append(groups, [2]int{from, to})
		from = to
	}
	return groups
}

// columnsOf are the heads of columns with these names, and the widths for them and the
// widest of their cells: the names, or numbers if some names are too wide to fit beside the
// first column.
func columnsOf(first int, names []string, cells []int) (heads []string, widths []int, numbered bool) {
	widths = make([]int, len(names))
	wide := false
	for i, name := range names {
		widths[i] = max(utf8.RuneCountInString(name), cells[i])
		wide = wide || widths[i] > cells[i]
	}
	if !wide || fits(first, widths) {
		return names, widths, false
	}
	for i := range names {
		head := fmt.Sprint(i + 1)
		heads, widths[i] = append(heads, head), max(len(head), cells[i])
	}
	return heads, widths, true
}

// numbered lists what the numbers of columns stand for, in lines.
func numbered(names []string) []string {
	var lines []string
	line := ""
	for i, name := range names {
		item := fmt.Sprintf("%d %s", i+1, name)
		if line != "" && utf8.RuneCountInString(line)+gap+utf8.RuneCountInString(item) > tableWidth {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += strings.Repeat(" ", gap)
		}
		line += item
	}
	return append(lines, line)
}
