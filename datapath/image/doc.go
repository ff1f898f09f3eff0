// Package image reads container images from disk, and unpacks them.
//
// An image is a folder in the OCI image layout, a tar archive of one, or an archive of
// docker save (github.com/opencontainers/image-spec, image-layout.md). Nothing is fetched: no
// registry, no daemon. What an image is made of is named by digests, from its manifest to the
// last file; whatever does not have the digest that it is named by is refused.
//
// Open (layout.go) finds the image for this machine and reads what it says of its program:
// small, bounded, on any operating system, so that a plan can name it. Unpack (unpack.go) then
// applies the layers, one over the other (layer.go), into a folder that nothing in them can
// lead out of.
//
// The package knows nothing of pods, plans and namespaces.
package image
