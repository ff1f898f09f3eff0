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

// Index finds the elements of a list by a key.
func Index[T any, K comparable](list []T, key func(*T) K) map[K]*T {
	m := make(map[K]*T, len(list))
	for i := range list {
		m[key(&list[i])] = &list[i]
	}
	return m
}
