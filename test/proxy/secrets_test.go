package proxy_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
)

// TestPagesReadNoSecretValues: of a Secret that kubectl would print, a page gets keys and
// sizes, whichever way it reads, and one value when it names the key.
func TestPagesReadNoSecretValues(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	c, err := cluster()
	if err != nil {
		t.Fatal(err)
	}
	namespace := c.Namespace(t)
	objects := &hubv1.ClusterObjects{Cluster: "edge", Version: "v1", Resource: "secrets", Namespace: namespace}
	value := base64.StdEncoding.EncodeToString([]byte("planted-4711"))
	answers := map[string][]byte{}
	made, err := w.client.ClusterAPI.WriteObject(t.Context(), connect.NewRequest(&hubv1.WriteClusterObjectRequest{
		Objects: objects, Verb: "create", Object: "apiVersion: v1\nkind: Secret\nmetadata:\n  name: hush\n  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: planted-4711\ndata:\n  password: " + value + "\n  user: a2lt\n",
	}))
	if err != nil {
		t.Fatal(err)
	}
	answers["the answer to a write"] = made.Msg.GetJson()
	read := func(r *hubv1.ListClusterObjectsRequest) *hubv1.ListClusterObjectsResponse {
		t.Helper()
		r.Objects = objects
		answer, err := w.client.ClusterAPI.ListObjects(t.Context(), connect.NewRequest(r))
		if err != nil {
			t.Fatal(err)
		}
		return answer.Msg
	}
	answers["the object"] = read(&hubv1.ListClusterObjectsRequest{Name: "hush"}).GetJson()
	list := read(&hubv1.ListClusterObjectsRequest{})
	answers["the list"], answers["the table"] = list.GetJson(), read(&hubv1.ListClusterObjectsRequest{Table: true}).GetJson()
	for table, name := range map[bool]string{false: "an event", true: "an event of a table"} {
		watch, err := w.client.ClusterAPI.WatchObjects(t.Context(), connect.NewRequest(&hubv1.WatchClusterObjectsRequest{Objects: objects, Table: table}))
		if err != nil {
			t.Fatal(err)
		}
		for len(answers[name]) == 0 && watch.Receive() {
			answers[name] = watch.Msg().GetJson()
		}
		if err := watch.Close(); err != nil {
			t.Error(err)
		}
	}
	for name, answer := range answers {
		if !strings.Contains(string(answer), "hush") {
			t.Errorf("%s does not have the Secret: %s", name, answer)
		}
		for _, secret := range []string{"planted-4711", value, "a2lt"} {
			if strings.Contains(string(answer), secret) {
				t.Errorf("%s holds %s: %s", name, secret, answer)
			}
		}
	}
	if one := string(answers["the object"]); !strings.Contains(one, `"password":"•••••••• (12 bytes)"`) {
		t.Errorf("the key and its size are not there: %s", one)
	}
	if one := string(read(&hubv1.ListClusterObjectsRequest{Name: "hush", Reveal: "user"}).GetJson()); !strings.Contains(one, `"user":"a2lt"`) || strings.Contains(one, value) {
		t.Errorf("the key user is revealed as %s", one)
	}
	for what, r := range map[string]*hubv1.ListClusterObjectsRequest{
		"a list": {Objects: objects, Reveal: "user"}, "a ConfigMap": {Objects: &hubv1.ClusterObjects{Cluster: "edge", Version: "v1", Resource: "configmaps", Namespace: namespace}, Name: "hush", Reveal: "user"},
	} {
		if _, err := w.client.ClusterAPI.ListObjects(t.Context(), connect.NewRequest(r)); !errcode.Is(err, errcode.Invalid) && connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("a key of %s is revealed: %v", what, err)
		}
	}
	// What a page shows is not what it may write.
	_, err = w.client.ClusterAPI.WriteObject(t.Context(), connect.NewRequest(&hubv1.WriteClusterObjectRequest{Objects: objects, Verb: "update", Name: "hush", Object: string(answers["the object"])}))
	if err == nil || !strings.Contains(err.Error(), "what stands for a value that is not shown") {
		t.Errorf("masks are written: %v", err)
	}
}
