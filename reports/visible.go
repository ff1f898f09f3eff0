package reports

import (
	"reflect"
	"strings"

	"github.com/netlab/netlab/reports/visible"
)

// visible is the report with every text of it printable: names, labels, failures and what
// programs wrote come from scenarios, and go to terminals, XML and HTML.
func (r Report) visible() Report {
	makeVisible(reflect.ValueOf(&r).Elem())
	return r
}

// visibleTables are truth tables whose texts are printable.
func visibleTables(tables []Reachability) []Reachability {
	makeVisible(reflect.ValueOf(&tables).Elem())
	return tables
}

// makeVisible replaces what a value refers to by copies whose texts are printable.
func makeVisible(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(printable(v.String()))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				makeVisible(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(list, v)
		v.Set(list)
		for i := range list.Len() {
			makeVisible(list.Index(i))
		}
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		to := reflect.New(v.Type().Elem())
		to.Elem().Set(v.Elem())
		v.Set(to)
		makeVisible(to.Elem())
	case reflect.Map, reflect.Interface, reflect.Array:
		panic("a report has no " + v.Kind().String())
	}
}

// printable is a text in which nothing acts on its reader, nor moves to another column.
func printable(s string) string { return strings.ReplaceAll(visible.Text(s), "\t", `\t`) }
