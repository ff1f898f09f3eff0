package kubeapi

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
	"slices"
)

// reviews is where clients ask what they may do (SelfSubjectAccessReview of authorization.k8s.io/v1).
const reviews = "authorization.k8s.io/v1/selfsubjectaccessreviews"

// review answers whether something may be done: everybody may read, and nobody may write.
func review(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		readOnly().write(w)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err != nil {
		badRequest(err).write(w)
		return
	}
	verb, err := verbAsked(body)
	if err != nil {
		badRequest(err).write(w)
		return
	}
	status := map[string]any{"allowed": slices.Contains([]string{"get", "list", "watch"}, verb)}
	if status["allowed"] == false {
		status["reason"] = "a lab is read only"
	}
	writeJSON(w, http.StatusCreated, map[string]any{"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "metadata": map[string]any{}, "spec": map[string]any{}, "status": status})
}

// verbAsked is the verb that a review is about, of resources or of other paths. It comes in JSON
// or, as kubectl has it, in protobuf: generated.proto of k8s.io/api/authorization/v1, in an
// Unknown of k8s.io/apimachinery/pkg/runtime.
func verbAsked(body []byte) (string, error) {
	if message, is := bytes.CutPrefix(body, []byte("k8s\x00")); is {
		const raw, spec, objects, paths, verb = 2, 2, 1, 2, 2
		of := member(member(message, raw), spec)
		return string(slices.Concat(member(member(of, objects), verb), member(member(of, paths), verb))), nil
	}
	type attributes struct {
		Verb string `json:"verb"`
	}
	var asked struct {
		Spec struct {
			Object attributes `json:"resourceAttributes"`
			Path   attributes `json:"nonResourceAttributes"`
		} `json:"spec"`
	}
	err := json.Unmarshal(body, &asked)
	return asked.Spec.Object.Verb + asked.Spec.Path.Verb, err
}

// member is a member of a message of protobuf that is text or a message itself; nil if there is
// none, or none that can be read.
func member(message []byte, number uint64) []byte {
	const varint, eight, sized, four = 0, 1, 2, 5 // protobuf.dev/programming-guides/encoding
	for len(message) > 0 {
		key, n := binary.Uvarint(message)
		if n <= 0 {
			return nil
		}
		message = message[n:]
		size := map[uint64]uint64{eight: 8, four: 4}[key&7]
		switch key & 7 {
		case varint, sized:
			v, n := binary.Uvarint(message)
			if n <= 0 {
				return nil
			}
			if message = message[n:]; key&7 == sized {
				size = v
			}
		case eight, four:
		default:
			return nil
		}
		if size > uint64(len(message)) {
			return nil
		}
		if key == number<<3|sized {
			return message[:size]
		}
		message = message[size:]
	}
	return nil
}
