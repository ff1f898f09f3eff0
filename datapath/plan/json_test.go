package plan

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestJSONHoldsRulesWithTheirObjects(t *testing.T) {
	b, err := json.Marshal(pair())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"lab":"pair"`,
		`{"rule":"-A KUBE-SVC -j DNAT --to-destination 10.244.1.2:8080","origin":"a.hcl:12 service default/web"}`,
		`"vxlan":{"id":1,"port":8472,"local":"192.168.0.1","dev":"eth0","learning":false}`,
		`"peer":{"netns":"pod.web-0","link":"eth0"}`,
		`{"name":"web-0","node":"node1","listen":["tcp/8080"],"origin":"a.hcl:9 pod web-0"}`,
		`{"dev":"flannel.1","to":"10.244.2.0/24","via":"10.244.2.0","onlink":true,"origin":"a.hcl:3 node node1"}`,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("missing %s in\n%s", want, b)
		}
	}
}
