package plan

// Changes leads from one plan to another. Each part is in canonical order.
type Changes struct {
	Create []Netns  // namespaces that are new, with all that is in them
	Edit   []Edit   // namespaces that stay
	Remove []string // namespaces that go, with all that is in them
}

// Empty reports whether there is nothing to do.
func (c Changes) Empty() bool {
	return len(c.Create) == 0 && len(c.Edit) == 0 && len(c.Remove) == 0
}

// Edit is what changes inside one namespace. Add, Change and Delete are sets of
// items in the lists of a Netns; their Tables are empty, see the field Tables. Sets
// in Change have another type or family and are made anew; for what changes inside of
// sets and virtual servers see the fields Sets and Virtual.
// Change holds items that exist under the same key with other attributes.
// Items of a namespace in Remove, and the far ends of its veths, may be listed
// in Delete: whoever applies the edit accepts that they are gone already.
type Edit struct {
	Netns  string
	Kind   Kind
	Add    Netns
	Change Netns
	Delete Netns
	Sets   []SetEdit
	Tables []TableEdit
	NFT    []NFTEdit
	// Virtual are in the order of their addresses.
	Virtual []VirtualEdit
	// UDP and Cut are all of the namespace, if its rules change in any way.
	UDP []UDPService
	Cut []Cut
}

// TableEdit is what changes in one iptables table: chains that get exactly the
// given rules, made where they are missing, and chains that go.
type TableEdit struct {
	IPv6   bool
	Name   string
	Set    []Chain
	Delete []string
}
