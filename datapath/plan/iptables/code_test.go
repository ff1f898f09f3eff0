package iptables

import (
	"net/netip"
	"reflect"
	"testing"

	"github.com/netlab/netlab/datapath/plan/coder"
)

func TestRulesSurviveEncoding(t *testing.T) {
	chain := Chain{Name: "ALL", Policy: "DROP"}
	for _, row := range ruleRows {
		chain.Rules = append(chain.Rules, row.rule)
	}
	want := []Table{{IPv6: true, Name: "filter", Chains: []Chain{chain, {Name: "NONE"}}}}
	w := coder.Writer(nil, 0)
	coder.List(w, &want, Code)
	var got []Table
	r := coder.Reader(string(w.Bytes()), nil)
	coder.List(r, &got, Code)
	if w.Err() != nil || r.Err() != nil || r.Left() > 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v, %d bytes left: got\n%+v\nwant\n%+v", w.Err(), r.Err(), r.Left(), got, want)
	}
}

// Every field of every match and target is encoded, including those without a row.
func TestEveryFieldOfARuleSurvivesEncoding(t *testing.T) {
	for _, m := range Matches.All() {
		want := Rule{Matches: []Match{filled(m)}}
		roundTrip(t, &want)
	}
	for _, target := range Targets.All() {
		want := Rule{Target: filled(target)}
		roundTrip(t, &want)
	}
}

// Equal rules are compared without writing them, whatever is in them.
func TestEveryMatchCanBeCompared(t *testing.T) {
	for _, m := range Matches.All() {
		if !sameMatch(filled(m), filled(m)) {
			t.Errorf("%T differs from itself", m)
		}
	}
}

func roundTrip(t *testing.T, want *Rule) {
	t.Helper()
	w := coder.Writer(nil, 0)
	codeRule(w, want)
	var got Rule
	codeRule(coder.Reader(string(w.Bytes()), nil), &got)
	if !reflect.DeepEqual(&got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", &got, want)
	}
}

// filled returns a value of the same type in which no field is zero.
func filled[T any](prototype T) T {
	v := reflect.New(reflect.TypeOf(prototype)).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Interface().(type) {
		case string:
			f.SetString("x")
		case bool:
			f.SetBool(true)
		case int:
			f.SetInt(7)
		case uint8, uint16, uint32:
			f.SetUint(7)
		case float64:
			f.SetFloat(0.5)
		case []string:
			f.Set(reflect.ValueOf([]string{"x"}))
		case netip.Prefix:
			f.Set(reflect.ValueOf(block("10.0.0.0/8")))
		case netip.Addr:
			f.Set(reflect.ValueOf(netip.MustParseAddr("10.0.0.1")))
		case netip.AddrPort:
			f.Set(reflect.ValueOf(netip.MustParseAddrPort("10.0.0.1:80")))
		default:
			panic(f.Type())
		}
	}
	return v.Interface().(T)
}
