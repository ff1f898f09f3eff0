package topology

// HTTPFiltersSpec is what a rule of a route changes; nil: nothing.
type HTTPFiltersSpec struct {
	RequestHeaders  *HeaderChangeSpec
	ResponseHeaders *HeaderChangeSpec
	Redirect        *RedirectSpec
	Rewrite         *RewriteSpec
}

// HeaderChangeSpec is a request_headers or response_headers block.
type HeaderChangeSpec struct {
	Set, Add map[string]string
	Remove   Opt[[]string]
	Origin   Origin
}

// RedirectSpec is a redirect block.
type RedirectSpec struct {
	Scheme, Hostname Opt[string]
	Port             Opt[int]
	Path             PathChangeSpec
	Status           Opt[int]
	Origin           Origin
}

// RewriteSpec is a rewrite block.
type RewriteSpec struct {
	Hostname Opt[string]
	Path     PathChangeSpec
	Origin   Origin
}

// PathChangeSpec is what stands for the whole path, or for the prefix that matched.
type PathChangeSpec struct{ Full, Prefix Opt[string] }

// HTTPFilters is what the controller changes of the requests of a rule and of their responses.
type HTTPFilters struct {
	RequestHeaders  HeaderChange
	ResponseHeaders HeaderChange
	Redirect        *Redirect // instead of backends
	Rewrite         Rewrite
}

// HeaderChange changes header fields.
type HeaderChange struct {
	Set, Add map[string]string
	Remove   []string
}

// Redirect answers a request with another place to ask.
type Redirect struct {
	Scheme, Hostname string // "": those of the request
	Port             uint16 // 0: that of the scheme
	Path             PathChange
	Status           int
}

// Rewrite is what an endpoint is asked for instead.
type Rewrite struct {
	Hostname string // "": that of the request
	Path     PathChange
}

// PathChange is what stands for the path of a request, or for a part of it.
type PathChange struct {
	Type PathChangeType
	With string
}

// PathChangeType says what of a path is replaced.
type PathChangeType string

// The ways to replace a path, as the Gateway API calls them.
const (
	SamePath           PathChangeType = ""
	ReplaceFullPath    PathChangeType = "ReplaceFullPath"
	ReplacePrefixMatch PathChangeType = "ReplacePrefixMatch"
)
