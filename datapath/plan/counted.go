package plan

// VirtualServers is the table of what IPVS has, beside those of the kernel's filters.
const VirtualServers = "ipvs"

// Counted is how many packets and bytes a rule has counted since it was created, or a virtual
// server or one of its real servers received.
type Counted struct {
	Netns   string
	Family  string // of nf_tables: ip, ip6 or inet
	IPv6    bool   // of iptables
	Table   string
	Chain   string
	Rule    string // as text: of IPVS in the words of ipvsadm
	Packets uint64
	Bytes   uint64
}
