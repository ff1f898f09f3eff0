// Package ipvs is the vocabulary of IPVS in plans: virtual servers with their real
// servers, and the commands that change them, in ipvsadm syntax.
package ipvs
