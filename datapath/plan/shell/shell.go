// Package shell writes words as a shell reads them.
package shell

import "strings"

// Quote writes a word as shells read it.
func Quote(s string) string {
	const plain = "=/.,:%+@-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Words are words as one would type them.
func Words(list []string) string {
	words := make([]string, 0, len(list))
	for _, s := range list {
		words = append(words, Quote(s))
	}
	return strings.Join(words, " ")
}
