// Package links creates and changes links, and reads them back: messages.go is what is sent,
// device.go what a dump says. Read turns that into the links of plans, and notes what no plan
// lists: flags, attributes of bridges, ports and VXLAN devices, names, and links of others.
package links
