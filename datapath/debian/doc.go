// Package debian knows which Debian package a program comes from, so that an error
// about a missing one names what to install. It is the only place that knows;
// .ci/provision, which installs them, is checked against it.
package debian
