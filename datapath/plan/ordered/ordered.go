// Package ordered sorts, compares and indexes lists in canonical order.
package ordered

import (
	"iter"
	"slices"
)

// Sort is a stable sort that costs one pass if the list is already in order, as backends
// make them.
func Sort[T any](list []T, compare func(a, b T) int) {
	if !slices.IsSortedFunc(list, compare) {
		slices.SortStableFunc(list, compare)
	}
}

// Bools puts false before true.
func Bools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Pairs walks through two lists in order: elements that compare equal come together, the
// others with nil for the one that is missing.
func Pairs[T any](have, want []T, compare func(a, b T) int) iter.Seq2[*T, *T] {
	return func(yield func(h, w *T) bool) {
		for i, j := 0, 0; i < len(have) || j < len(want); {
			var h, w *T
			c := len(want) - j - (len(have) - i)
			if i < len(have) && j < len(want) {
				c = compare(have[i], want[j])
			}
			if c <= 0 {
				h = &have[i]
				i++
			}
			if c >= 0 {
				w = &want[j]
				j++
			}
			if !yield(h, w) {
				return
			}
		}
	}
}

// Same reports whether two lists are one in memory, as in plans that share what is equal.
func Same[T any](a, b []T) bool { return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] }

// Differing returns the two lists without the elements that they begin with and those that they end
// with in common, going by what is quick to see.
func Differing[T any](have, want []T, same func(a, b *T) bool) (h, w []T) {
	for len(have) > 0 && len(want) > 0 && same(&have[0], &want[0]) {
		have, want = have[1:], want[1:]
	}
	for len(have) > 0 && len(want) > 0 && same(&have[len(have)-1], &want[len(want)-1]) {
		have, want = have[:len(have)-1], want[:len(want)-1]
	}
	return have, want
}

// Index finds the elements of a list by a key.
func Index[T any, K comparable](list []T, key func(*T) K) map[K]*T {
	m := make(map[K]*T, len(list))
	for i := range list {
		m[key(&list[i])] = &list[i]
	}
	return m
}
