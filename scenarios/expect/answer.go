package expect

import (
	"slices"

	"github.com/netlab/netlab/datapath/flow"
)

// Who answers: one of Answers each connection, and each of them at least one connection
// of every pair, unless the client must stay with one.
var answerCheck = check{
	name:       "answer",
	attributes: []string{"answer"},
	wanted: func(r *Reach, _ int) []string {
		switch {
		case r.Theirs != nil:
			return []string{"answered by whom they dial"}
		case len(r.Answers) == 0:
			return nil
		case len(r.Answers) == 1:
			return []string{"answered by " + r.Answers[0]}
		case r.Sticky:
			return []string{"answered by one of " + list(r.Answers, "and")}
		}
		return []string{"answered by each of " + list(r.Answers, "and")}
	},
	part: func(r flow.Result) any { return r.Answer },
	each: func(p *Pair, r flow.Result) (string, bool) {
		answers := p.answers()
		switch {
		case len(answers) == 0 || slices.Contains(answers, r.Answer):
			return "", true
		case r.Answer == "":
			return unnamed, false
		}
		return r.Answer + " should not answer", false
	},
	all: func(p *Pair, e Evidence) (wrong []string) {
		met := answerers(e.connected(p))
		var missing []string
		for _, name := range p.answers() {
			if !slices.Contains(met, name) && !p.Spread.excludes(name) {
				missing = append(missing, name)
			}
		}
		// Without an answer, the outcome suffices.
		if len(missing) > 0 && len(met) > 0 && !p.Sticky {
			wrong = append(wrong, e.missing(missing))
		}
		return wrong
	},
}

// answers are the agents that answer the pair.
func (p *Pair) answers() []string {
	if p.Theirs != nil {
		return p.Theirs[p.to : p.to+1]
	}
	return p.Answers
}

// unnamed says that something answered that is not an agent of the lab.
const unnamed = "the server does not say who it is"
