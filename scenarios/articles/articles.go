package articles

// Verdict is what became of a claim.
type Verdict string

const (
	// Holds: it is as the article says.
	Holds Verdict = "holds"
	// Errs: the packets refute it.
	Errs Verdict = "errs"
	// Depends: it holds in some versions of what it is about.
	Depends Verdict = "depends on version"
	// Open: nothing here can prove it, and Why says for what reason.
	Open Verdict = "no proof"
)

// Article is a text that this list reads.
type Article struct {
	Title  string
	Where  string // author and year, or the language that it is in
	Claims []Claim
}

// Claim is one sentence of an article, in our words.
type Claim struct {
	Number  int // among the claims of all articles, from 1
	Section string
	Says    string
	Verdict Verdict
	// Why is what happens instead (Errs), in which versions (Depends), why there is no proof
	// (Open); elsewhere, what else a reader should know, or nothing.
	Why string
	// Refusal is the proof of a claim that something is refused; nil: expectations are.
	Refusal *Refusal
}

// Refusal is a lab that is refused, and the one change that makes it right.
type Refusal struct {
	Lab     string // with one %s
	Wrong   string // what stands there
	Right   string
	Because string // summary of the error
}

// All are the articles, in the order of the numbers of their claims.
func All() []Article { return []Article{life, docker, modes, rules} }

// Claims are the claims of all articles.
func Claims() []Claim {
	var all []Claim
	for _, a := range All() {
		all = append(all, a.Claims...)
	}
	return all
}
