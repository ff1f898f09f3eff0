//go:build linux

package routing

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/deviations"
	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan"
)

// Numbers of routing rules, and the size of their header (include/uapi/linux/fib_rules.h).
const (
	fraDst, fraSrc, fraIIF, fraGoto = 1, 2, 3, 4
	fraPriority, fraMark            = 6, 10
	fraSuppress, fraTable, fraMask  = 14, 15, 16
	fraOIF, fraProtocol             = 17, 21
	toTable                         = 1 // FR_ACT_TO_TBL
	ruleHeader                      = 12
)

// ruleActions are the actions of routing rules, as ip rule names them.
var ruleActions = map[byte]string{2: "goto", 3: "nop", 6: "blackhole", 7: "unreachable", 8: "prohibit"}

// lookup is a rule that the kernel gives every namespace.
type lookup struct {
	family   byte
	priority uint32
	table    uint32
}

var lookups = []lookup{{unix.AF_INET, 0, unix.RT_TABLE_LOCAL}, {unix.AF_INET, 32766, unix.RT_TABLE_MAIN}, {unix.AF_INET, 32767, unix.RT_TABLE_DEFAULT},
	{unix.AF_INET6, 0, unix.RT_TABLE_LOCAL}, {unix.AF_INET6, 32766, unix.RT_TABLE_MAIN}}

// readRules notes the routing rules that every namespace has and this one lacks, and others.
func readRules(d deviations.List, sock *socket.Socket) error {
	list, err := sock.Dump(unix.RTM_GETRULE, make([]byte, ruleHeader))
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil // a kernel without them
	}
	if err != nil {
		return fmt.Errorf("routing rules: %w", err)
	}
	found := map[lookup]bool{}
	for _, m := range list {
		attrs, err := socket.Attrs(m, ruleHeader)
		if err != nil {
			return fmt.Errorf("routing rules: %w", err)
		}
		h := m[unix.NLMSG_HDRLEN:][:ruleHeader]
		if h[0] != unix.AF_INET && h[0] != unix.AF_INET6 {
			continue // of multicast routing
		}
		rule := lookup{h[0], socket.Number(attrs[fraPriority]), socket.Number(attrs[fraTable])}
		if slices.Contains(lookups, rule) && !found[rule] && plain(h, attrs) {
			found[rule] = true
			continue
		}
		pref, family := socket.Number(attrs[fraPriority]), familyWord(h[0])
		words := ruleWords(h, attrs)
		d.Foreign(fmt.Sprintf("ip %srule %d: %s", family, pref, words), d.IP("%srule delete pref %d %s", family, pref, words), deviations.Undo(unix.NETLINK_ROUTE, unix.RTM_DELRULE, m))
	}
	if len(found) == 0 && len(list) == 0 {
		return nil
	}
	for _, rule := range lookups {
		if found[rule] {
			continue
		}
		family := familyWord(rule.family)
		d.Missing(fmt.Sprintf("ip %srule %d: from all lookup %s", family, rule.priority, tableWord(rule.table)),
			d.IP("%srule add pref %d lookup %s protocol kernel", family, rule.priority, tableWord(rule.table)), rule.message())
	}
	return nil
}

func familyWord(family byte) string {
	if family == unix.AF_INET6 {
		return "-6 "
	}
	return ""
}

// plain reports whether a rule selects every packet, and looks up its table.
func plain(h []byte, attrs map[uint16][]byte) bool {
	for kind, v := range attrs {
		switch kind {
		case fraPriority, fraTable, fraProtocol:
		case fraSuppress:
			if socket.Number(v) != math.MaxUint32 {
				return false
			}
		default:
			return false
		}
	}
	flags := h[8:12]
	return h[1] == 0 && h[2] == 0 && h[3] == 0 && h[7] == toTable && flags[0]&2 == 0 // FIB_RULE_INVERT
}

func ruleWords(h []byte, attrs map[uint16][]byte) string {
	block := func(a []byte, bits byte) string {
		if bits == 0 {
			return "all"
		}
		return netip.PrefixFrom(socket.Address(a), int(bits)).String()
	}
	w := []string{"from " + block(attrs[fraSrc], h[2])}
	if h[8]&2 != 0 {
		w = slices.Insert(w, 0, "not")
	}
	if h[1] != 0 {
		w = append(w, "to "+block(attrs[fraDst], h[1]))
	}
	if h[3] != 0 {
		w = append(w, fmt.Sprintf("tos %d", h[3]))
	}
	if mark, mask := socket.Number(attrs[fraMark]), socket.Number(attrs[fraMask]); mark != 0 || mask != 0 {
		w = append(w, fmt.Sprintf("fwmark %#x/%#x", mark, mask))
	}
	for kind, word := range map[uint16]string{fraIIF: "iif", fraOIF: "oif"} {
		if v, ok := attrs[kind]; ok {
			w = append(w, word, nl.BytesToString(v))
		}
	}
	if action, ok := ruleActions[h[7]]; ok {
		if h[7] == 2 {
			action += " " + strconv.Itoa(int(socket.Number(attrs[fraGoto])))
		}
		return strings.Join(append(w, action), " ")
	}
	return strings.Join(append(w, "lookup "+tableWord(socket.Number(attrs[fraTable]))), " ")
}

func (l lookup) message() plan.Request {
	req := socket.Request(unix.RTM_NEWRULE, unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	req.AddData(&nl.RtMsg{RtMsg: unix.RtMsg{Family: l.family, Table: uint8(l.table), Type: toTable}})
	req.AddData(nl.NewRtAttr(fraPriority, nl.Uint32Attr(l.priority)))
	req.AddData(nl.NewRtAttr(fraTable, nl.Uint32Attr(l.table)))
	req.AddData(nl.NewRtAttr(fraProtocol, []byte{unix.RTPROT_KERNEL}))
	return deviations.RouteRequest(socket.Written(req))
}

// Messages on nexthop objects (include/uapi/linux/rtnetlink.h, nexthop.h).
const (
	delNextHop, getNextHop = 105, 106
	nextHopHeader          = 8
	nextHopID              = 1
	nextHopOf              = 30 // RTA_NH_ID
)

// readNextHops notes nexthop objects, which no plan has. Deleting one deletes its routes.
func readNextHops(d deviations.List, sock *socket.Socket) error {
	list, err := sock.Dump(getNextHop, make([]byte, nextHopHeader))
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL) {
		return nil // before 5.3
	}
	if err != nil {
		return fmt.Errorf("nexthop objects: %w", err)
	}
	for _, m := range list {
		attrs, err := socket.Attrs(m, nextHopHeader)
		if err != nil {
			return fmt.Errorf("nexthop objects: %w", err)
		}
		id := attrs[nextHopID]
		req := socket.Request(delNextHop, 0)
		req.AddData(make(socket.Raw, nextHopHeader))
		req.AddData(nl.NewRtAttr(nextHopID, id))
		d.Foreign(fmt.Sprintf("nexthop id %d", socket.Number(id)), d.IP("nexthop delete id %d", socket.Number(id)), deviations.RouteRequest(socket.Written(req)))
	}
	return nil
}
