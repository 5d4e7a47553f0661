package node

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The mounts of another folder, also one whose name begins alike, are never unmounted.
func TestMountsBelow(t *testing.T) {
	const mountinfo = `22 1 0:20 / / rw - ext4 /dev/vda rw
90 22 0:40 / /cache/node/kubelet/pods/a/volumes/token rw - tmpfs tmpfs rw
91 90 0:41 / /cache/node/containerd-state/with\040space rw - overlay overlay rw
92 22 0:42 / /cache/node-other/x rw - tmpfs tmpfs rw
93 22 0:43 / /cache/node rw - tmpfs tmpfs rw
`
	want := []string{"/cache/node/kubelet/pods/a/volumes/token", "/cache/node/containerd-state/with space"}
	if have := mountsBelow([]byte(mountinfo), "/cache/node"); !slices.Equal(have, want) {
		t.Errorf("%q, want %q", have, want)
	}
}

func TestReadOnlyRoot(t *testing.T) {
	for text, want := range map[string]bool{
		"5 1 0:2 / / ro,relatime - overlay overlay rw\n": true,
		"5 1 0:2 / / rw,relatime - overlay overlay ro\n": false,
		"5 1 0:2 / /data ro - ext4 /dev/vda rw\n":        false,
		"5 1 0:2 / / ro - overlay overlay rw\n":          true,
		"":                                               false,
	} {
		if have := readOnlyRoot([]byte(text)); have != want {
			t.Errorf("%q: %t", text, have)
		}
	}
}

// Pods find Services by their address, and the replicas of a headless one by name, those
// that are not ready only if the Service says so.
func TestHosts(t *testing.T) {
	service := func(name, address string, early bool) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "axle"}, Spec: corev1.ServiceSpec{ClusterIP: address, PublishNotReadyAddresses: early}}
	}
	part := func(name string) *discoveryv1.EndpointSlice {
		return &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: "axle", Labels: map[string]string{discoveryv1.LabelServiceName: name}},
			Endpoints: []discoveryv1.Endpoint{
				{Addresses: []string{"10.244.0.7"}, Hostname: new("axle-0")},
				{Addresses: []string{"10.244.0.8"}, Hostname: new("axle-1"), Conditions: discoveryv1.EndpointConditions{Ready: new(false)}},
			},
		}
	}
	have := hosts([]*corev1.Service{service("axle", "10.96.0.9", false), service("replicas", "None", true), service("db", "None", false), service("out", "", false)},
		[]*discoveryv1.EndpointSlice{part("axle"), part("replicas"), part("db")})
	want := strings.Join([]string{
		"10.244.0.7 axle-0.db.axle.svc.cluster.local", "10.244.0.7 axle-0.replicas.axle.svc.cluster.local",
		"10.244.0.7 db.axle.svc.cluster.local", "10.244.0.7 replicas.axle.svc.cluster.local",
		"10.244.0.8 axle-1.replicas.axle.svc.cluster.local", "10.244.0.8 replicas.axle.svc.cluster.local",
		"10.96.0.9 axle.axle.svc.cluster.local", "",
	}, "\n")
	if have != want {
		t.Errorf("%s\nwant\n%s", have, want)
	}
}

// Everything that programs keep is below the node's folder.
func TestFilesAreFilled(t *testing.T) {
	dir := t.TempDir()
	if err := writeFiles(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"containerd.toml", "registry.yaml", "kubelet.yaml", "cni/10-axle.conflist", "certs.d/" + Registry + "/hosts.toml"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if left := strings.Contains(string(text), "NODE") || strings.Contains(string(text), "REGISTRY"); left || len(text) == 0 {
			t.Errorf("%s is not filled:\n%s", name, text)
		}
	}
}
