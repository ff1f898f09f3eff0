package reports

import (
	"testing"

	"github.com/netlab/netlab/datapath/flow"
)

// truth is a table with every kind of cell.
func truth() []Reachability {
	is := func(o ...flow.Outcome) []flow.Outcome { return o }
	agree := Cell{Expected: is(flow.Connected), Predicted: is(flow.Connected), Observed: is(flow.Connected)}
	denied := Cell{Expected: is(flow.Timeout), Predicted: is(flow.Timeout), Observed: is(flow.Timeout)}
	open := Cell{Expected: is(flow.Timeout), Predicted: is(flow.Timeout), Observed: is(flow.Connected), Because: "isolated by policy x/deny"}
	chance := Cell{Expected: is(flow.Connected, flow.Refused), Predicted: is(flow.Refused, flow.Connected), Observed: is(flow.Refused)}
	paper := Cell{Expected: is(flow.Refused), Predicted: is(flow.Timeout)}
	tables := []Reachability{{Protocol: flow.TCP, Port: 80, From: []string{"x/a", "a-longer-name"}, To: []string{"x/a", "x/b", "c"},
		Cells: [][]Cell{{agree, denied, open}, {chance, paper, agree}}}}
	for _, row := range tables[0].Cells {
		for k := range row {
			row[k].Judge()
		}
	}
	return tables
}

func TestTruthTablesShowDisagreements(t *testing.T) {
	text, differences := ReachTables(truth(), false)
	golden(t, "reach.txt", []byte(text))
	if differences != 2 {
		t.Errorf("%d differences", differences)
	}
	data, err := ReachJSON(truth())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "reach.json", data)
}
