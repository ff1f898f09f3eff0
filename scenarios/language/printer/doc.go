// Package printer writes a lab as a scenario, as a person would: with count and for_each,
// references and short selectors, and comments where something needs one. It writes what
// manifests can say; how the text is aligned is source.Format's. Begin with Text.
package printer
