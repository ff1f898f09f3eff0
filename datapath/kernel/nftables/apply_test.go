//go:build linux

package nftables

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan/nft"
)

// Packets meet new tables as a whole: everything that has a hook comes at the end, of all tables,
// and the rest may be there before. A rule has its own map with it, which the kernel need not
// look for by name.
func TestNewTablesAreHookedInAtTheEnd(t *testing.T) {
	table := func(family string) nft.Table {
		own := nft.VMap{Fields: []nft.Field{nft.Random(1)}, Elements: []nft.Element{{Key: []nft.Value{nft.Number(0)}, Verdict: nft.Verdict{Kind: "accept"}}}}
		return nft.Table{Family: family, Name: "t", Chains: []nft.Chain{
			{Name: "begin", Type: "filter", Hook: "input", Policy: "drop", Rules: []nft.Rule{{Exprs: []nft.Expr{nft.Jump("own")}}}},
			{Name: "own", Rules: []nft.Rule{{Exprs: []nft.Expr{own}}, {Exprs: []nft.Expr{own}}}},
		}, Sets: []nft.Set{{Name: "s", Key: []nft.Type{nft.Mark}, Elements: []nft.Element{{Key: []nft.Value{nft.Number(1)}}}}}}
	}
	const built = "table chain set elements own elements with rule own elements with rule"
	for _, row := range []struct {
		name        string
		edits       []nft.Edit
		early, rest string
	}{
		{"two new tables", nft.Create([]nft.Table{table("ip"), table("ip6")}), built + " " + built, "chain rule chain rule"},
		{"a change", nft.Diff([]nft.Table{{Family: "ip", Name: "t"}}, []nft.Table{table("ip")}), "", "chain -rule chain -rule set elements own elements with rule own elements with rule rule"},
	} {
		msgs, err := messages(t.Context(), row.edits)
		if err != nil {
			t.Fatal(err)
		}
		n := len(msgs)
		if i := slices.IndexFunc(msgs, func(m socket.Message) bool { return !m.Early }); i >= 0 {
			n = i
		}
		if early, rest := kinds(msgs[:n]), kinds(msgs[n:]); early != row.early || rest != row.rest {
			t.Errorf("%s:\nearly %s\n want %s\n then %s\n want %s", row.name, early, row.early, rest, row.rest)
		}
	}
}

// kinds are the messages in words: "own elements with rule" are an anonymous set, its elements and
// its rule, in the same transaction.
func kinds(msgs []socket.Message) string {
	var words []string
	for _, m := range msgs {
		kind := binary.NativeEndian.Uint16(m.Data[4:]) &^ nftSubsystem
		word := map[uint16]string{unix.NFT_MSG_NEWTABLE: "table", unix.NFT_MSG_NEWCHAIN: "chain", unix.NFT_MSG_NEWSET: "set",
			unix.NFT_MSG_NEWSETELEM: "elements", unix.NFT_MSG_NEWRULE: "rule", unix.NFT_MSG_DELRULE: "-rule"}[kind]
		a, err := parseAttrs(m.Data[20:])
		switch {
		case err != nil:
			word = err.Error()
		case kind == unix.NFT_MSG_NEWSET && a.number(unix.NFTA_SET_FLAGS)&unix.NFT_SET_ANONYMOUS != 0 && strings.Contains(a.Text(unix.NFTA_SET_NAME), "%"):
			word = "own without a name"
		case kind == unix.NFT_MSG_NEWSET && m.Joined:
			word = "own"
		case kind == unix.NFT_MSG_NEWSETELEM && m.Joined && a[unix.NFTA_SET_ELEM_LIST_SET] == nil:
			word = "elements with"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}
