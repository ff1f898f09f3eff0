package topology

import "testing"

func TestSuggestionsOfNames(t *testing.T) {
	known := []string{"node", "port", "target_port", "up", "pod_selector", "cluster_ip"}
	for written, want := range map[string]string{
		"upp": "up", "nodeName": "node", "containerPort": "port", "targetPort": "target_port", "podSelector": "pod_selector",
		"clusterIP": "cluster_ip", "target_prot": "target_port", "something": "", "": "",
	} {
		if got := Nearest(written, known); got != want {
			t.Errorf("%q: got %q, want %q", written, got, want)
		}
	}
}

func TestWordsInCapitals(t *testing.T) {
	for written, want := range map[string]string{"tcp": "tcp", "TCP": "tcp", "Tcp": "", "NodePort": "NodePort", "NODEPORT": "NodePort", "nodeport": ""} {
		if got := Word(written, []string{"tcp", "NodePort"}); got != want {
			t.Errorf("%q: got %q, want %q", written, got, want)
		}
	}
}
