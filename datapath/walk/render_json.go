package walk

import (
	"encoding/json"
	"fmt"

	"github.com/netlab/netlab/datapath/flow"
)

// MarshalJSON returns the prediction for other programs: the flow, its results with
// their probabilities, and every branch with all steps.
func (p Prediction) MarshalJSON() ([]byte, error) {
	type end struct {
		flow.Result
		Probability float64 `json:"probability"`
	}
	out := struct {
		From     string        `json:"from"`
		To       string        `json:"to"`
		Protocol flow.Protocol `json:"protocol"`
		Ends     []end         `json:"ends"`
		Branches []Branch      `json:"branches"`
	}{From: p.Flow.From, To: p.Flow.To.String(), Protocol: p.protocol(), Ends: []end{}, Branches: p.Branches}
	for _, e := range p.Results() {
		out.Ends = append(out.Ends, end{e.Value, e.Probability})
	}
	b, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("prediction: %w", err)
	}
	return b, nil
}
