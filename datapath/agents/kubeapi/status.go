package kubeapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// failure is an error as the API tells it: a Status object (apimachinery, meta/v1).
type failure struct {
	code    int
	reason  string
	message string
	details map[string]any
}

func (f *failure) Error() string { return f.message }

func (f *failure) status() map[string]any {
	details := f.details
	if details == nil {
		details = map[string]any{}
	}
	return map[string]any{"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Failure",
		"message": f.message, "reason": f.reason, "details": details, "code": f.code}
}

func (f *failure) write(w http.ResponseWriter) {
	if seconds, ok := f.details["retryAfterSeconds"]; ok {
		w.Header().Set("Retry-After", fmt.Sprint(seconds))
	}
	writeJSON(w, f.code, f.status())
}

// writeJSON writes a small object.
func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // a client that is gone needs no answer
}

func noResource() *failure {
	return &failure{code: http.StatusNotFound, reason: "NotFound", message: "the server could not find the requested resource"}
}

// elsewhere answers what a lab has, but not in its API, with the command that has it.
func elsewhere(what string) *failure {
	f := noResource()
	f.message += ": " + what
	return f
}

// noSchemas answers kubectl explain, and the validation of kubectl create. The latter takes a
// schema as protobuf, with every field of every kind: what an import knows of them is less, and
// half a schema would refuse manifests that are right. Of all statuses, 406 as text is the one
// whose message kubectl shows (NewGenericServerResponse of apimachinery).
func noSchemas(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusNotAcceptable)
	_, _ = io.WriteString(w, "a lab has no schemas of its objects; what is wrong in manifests is told by: netlab import --strict FILE")
}

// subresource answers requests about a part of an object: a lab serves objects as a whole.
func subresource(of *resource, name, part string) *failure {
	switch {
	case part == "scale":
		return readOnly()
	case of.name != "pods":
	case part == "log":
		return elsewhere("a lab has no kubelets; see: netlab logs " + name)
	case part == "exec" || part == "attach" || part == "portforward":
		return elsewhere("a lab has no kubelets; run a command with: netlab exec " + name + " -- COMMAND")
	}
	return noResource()
}

func notFound(r *resource, name string) *failure {
	plural, details := r.name, map[string]any{"name": name, "kind": r.name}
	if r.group != "" {
		plural += "." + r.group
		details["group"] = r.group
	}
	return &failure{code: http.StatusNotFound, reason: "NotFound", message: fmt.Sprintf("%s %q not found", plural, name), details: details}
}

func badRequest(err error) *failure {
	return &failure{code: http.StatusBadRequest, reason: "BadRequest", message: err.Error()}
}

func invalidWatch(message string) *failure {
	return &failure{code: http.StatusUnprocessableEntity, reason: "Invalid", message: "ListOptions.meta.k8s.io \"\" is invalid: " + message,
		details: map[string]any{"group": "meta.k8s.io", "kind": "ListOptions"}}
}

// readOnly refuses what would change a lab.
func readOnly() *failure {
	return &failure{code: http.StatusMethodNotAllowed, reason: "MethodNotAllowed",
		message: "the server does not allow this method on the requested resource: a lab is read only; change its scenario, then: netlab up"}
}

func expired(version, first int64) *failure {
	return &failure{code: http.StatusGone, reason: "Expired", message: fmt.Sprintf("too old resource version: %d (%d)", version, first)}
}

// tooNew is the answer to a version that is not there yet, which a client may have from another
// server.
func tooNew(version, current int64) *failure {
	return &failure{code: http.StatusGatewayTimeout, reason: "Timeout", message: fmt.Sprintf("Too large resource version: %d, current: %d", version, current),
		details: map[string]any{"retryAfterSeconds": 1, "causes": []any{map[string]any{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}}}}
}
