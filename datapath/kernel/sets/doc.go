// Package sets creates ipsets over netlink, changes them in place and reads them back.
package sets
