package apply_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/axle-cd/axle/agent/apply"
)

func binding(kind, role string) string {
	return anyOf("rbac.authorization.k8s.io/v1", kind, "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "+role+"}\nsubjects: []")
}

func claim(spec string) string {
	return anyOf("v1", "PersistentVolumeClaim", "spec: {accessModes: [ReadWriteOnce]"+comma(spec)+"}")
}

func job(image string) string {
	return anyOf("batch/v1", "Job", "spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: "+image+"}]}}}")
}

const immutableCRD = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"fixeds.test.example.com"},
"spec":{"group":"test.example.com","scope":"Namespaced","names":{"kind":"Fixed","plural":"fixeds","singular":"fixed"},"versions":[{"name":"v1","served":true,"storage":true,
"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
"a":{"type":"string","x-kubernetes-validations":[{"rule":"self == oldSelf"}]},
"b":{"type":"string","x-kubernetes-validations":[{"rule":"self == oldSelf","message":"Value is immutable"}]}}}}}}}]}}`

// immutables are pairs of revisions that the API server refuses to make of each other.
// waits: a controller that is not here has to let the old object go.
var immutables = map[string]struct {
	v1, v2 string
	waits  bool
}{
	"roleRef of a RoleBinding":          {v1: binding("RoleBinding", "view"), v2: binding("RoleBinding", "edit")},
	"roleRef of a ClusterRoleBinding":   {v1: binding("ClusterRoleBinding", "view"), v2: binding("ClusterRoleBinding", "edit")},
	"clusterIP of a Service":            {v1: serviceOf("ports: [{port: 80}]"), v2: serviceOf("clusterIP: None, ports: [{port: 80}]")},
	"class of a load balancer":          {v1: serviceOf("type: LoadBalancer, loadBalancerClass: a.example.com/a, ports: [{port: 80}]"), v2: serviceOf("type: LoadBalancer, loadBalancerClass: a.example.com/b, ports: [{port: 80}]")},
	"type of a Secret":                  {v1: anyOf("v1", "Secret", "type: a.example.com/a"), v2: anyOf("v1", "Secret", "type: a.example.com/b")},
	"data of an immutable Secret":       {v1: anyOf("v1", "Secret", "immutable: true\nstringData: {a: a}"), v2: anyOf("v1", "Secret", "immutable: true\nstringData: {a: b}")},
	"data of an immutable ConfigMap":    {v1: anyOf("v1", "ConfigMap", "immutable: true\ndata: {a: a}"), v2: anyOf("v1", "ConfigMap", "immutable: true\ndata: {a: b}")},
	"an immutable ConfigMap":            {v1: anyOf("v1", "ConfigMap", "immutable: true\ndata: {a: a}"), v2: anyOf("v1", "ConfigMap", "immutable: false\ndata: {a: a}")},
	"selector of a Deployment":          {v1: workload("Deployment", "", "containers: [{name: c, image: i}]"), v2: strings.ReplaceAll(workload("Deployment", "", "containers: [{name: c, image: i}]"), "{a: b}", "{a: c}")},
	"selector of a DaemonSet":           {v1: workload("DaemonSet", "", "containers: [{name: c, image: i}]"), v2: strings.ReplaceAll(workload("DaemonSet", "", "containers: [{name: c, image: i}]"), "{a: b}", "{a: c}")},
	"service of a StatefulSet":          {v1: workload("StatefulSet", "serviceName: a", "containers: [{name: c, image: i}]"), v2: workload("StatefulSet", "serviceName: b", "containers: [{name: c, image: i}]")},
	"policy of a StatefulSet":           {v1: workload("StatefulSet", "serviceName: a", "containers: [{name: c, image: i}]"), v2: workload("StatefulSet", "serviceName: a, podManagementPolicy: Parallel", "containers: [{name: c, image: i}]")},
	"template of a Job":                 {v1: job("a"), v2: job("b"), waits: true},
	"class of a claim":                  {v1: claim("storageClassName: a, resources: {requests: {storage: 1Gi}}"), v2: claim("storageClassName: b, resources: {requests: {storage: 1Gi}}"), waits: true},
	"smaller claim":                     {v1: claim("storageClassName: a, resources: {requests: {storage: 2Gi}}"), v2: claim("storageClassName: a, resources: {requests: {storage: 1Gi}}"), waits: true},
	"source of a volume":                {v1: anyOf("v1", "PersistentVolume", "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /a}}"), v2: anyOf("v1", "PersistentVolume", "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /b}}"), waits: true},
	"provisioner of a StorageClass":     {v1: anyOf("storage.k8s.io/v1", "StorageClass", "provisioner: a.example.com"), v2: anyOf("storage.k8s.io/v1", "StorageClass", "provisioner: b.example.com")},
	"parameters of a StorageClass":      {v1: anyOf("storage.k8s.io/v1", "StorageClass", "provisioner: a.example.com\nparameters: {a: a}"), v2: anyOf("storage.k8s.io/v1", "StorageClass", "provisioner: a.example.com\nparameters: {a: b}")},
	"policy of a StorageClass":          {v1: anyOf("storage.k8s.io/v1", "StorageClass", "provisioner: a.example.com\nreclaimPolicy: Retain"), v2: anyOf("storage.k8s.io/v1", "StorageClass", "provisioner: a.example.com\nreclaimPolicy: Delete")},
	"driver of a VolumeAttributesClass": {v1: anyOf("storage.k8s.io/v1", "VolumeAttributesClass", "driverName: a.example.com\nparameters: {a: a}"), v2: anyOf("storage.k8s.io/v1", "VolumeAttributesClass", "driverName: b.example.com\nparameters: {a: a}"), waits: true},
	"attach of a CSIDriver":             {v1: anyOf("storage.k8s.io/v1", "CSIDriver", "spec: {attachRequired: true}"), v2: anyOf("storage.k8s.io/v1", "CSIDriver", "spec: {attachRequired: false}")},
	"value of a PriorityClass":          {v1: anyOf("scheduling.k8s.io/v1", "PriorityClass", "value: 1"), v2: anyOf("scheduling.k8s.io/v1", "PriorityClass", "value: 2")},
	"preemption of a PriorityClass":     {v1: anyOf("scheduling.k8s.io/v1", "PriorityClass", "value: 1"), v2: anyOf("scheduling.k8s.io/v1", "PriorityClass", "value: 1\npreemptionPolicy: Never")},
	"controller of an IngressClass":     {v1: anyOf("networking.k8s.io/v1", "IngressClass", "spec: {controller: a.example.com/a}"), v2: anyOf("networking.k8s.io/v1", "IngressClass", "spec: {controller: a.example.com/b}")},
	"ranges of a ServiceCIDR":           {v1: anyOf("networking.k8s.io/v1", "ServiceCIDR", "spec: {cidrs: [10.200.0.0/24]}"), v2: anyOf("networking.k8s.io/v1", "ServiceCIDR", "spec: {cidrs: [10.201.0.0/24]}"), waits: true},
	"handler of a RuntimeClass":         {v1: anyOf("node.k8s.io/v1", "RuntimeClass", "handler: a"), v2: anyOf("node.k8s.io/v1", "RuntimeClass", "handler: b")},
	"addresses of an EndpointSlice":     {v1: anyOf("discovery.k8s.io/v1", "EndpointSlice", "addressType: IPv4\nendpoints: []"), v2: anyOf("discovery.k8s.io/v1", "EndpointSlice", "addressType: IPv6\nendpoints: []")},
	"data of a ControllerRevision":      {v1: anyOf("apps/v1", "ControllerRevision", "revision: 1\ndata: {a: a}"), v2: anyOf("apps/v1", "ControllerRevision", "revision: 1\ndata: {a: b}")},
	"scopes of a quota":                 {v1: anyOf("v1", "ResourceQuota", "spec: {scopes: [BestEffort], hard: {pods: 1}}"), v2: anyOf("v1", "ResourceQuota", "spec: {scopes: [NotBestEffort], hard: {pods: 1}}")},
	"rule of a custom resource":         {v1: anyOf("test.example.com/v1", "Fixed", "spec: {a: a}"), v2: anyOf("test.example.com/v1", "Fixed", "spec: {a: b}")},
	"message of a custom resource":      {v1: anyOf("test.example.com/v1", "Fixed", "spec: {b: a}"), v2: anyOf("test.example.com/v1", "Fixed", "spec: {b: b}")},
}

// Whatever the API server calls a field that cannot be changed, we name the field and the
// way out, and take it where the object is annotated.
func TestEveryImmutableFieldIsKnown(t *testing.T) {
	b := newBed(t, nil)
	crds := b.dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := crds.Create(t.Context(), objects(t, immutableCRD)[0], metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for name, test := range immutables {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // some wait for what they delete
			b := *b
			b.t = t
			service := newService("d1")
			object := func(text, more string) string {
				if strings.Contains(text, "kind: CSIDriver") {
					return strings.Replace(text, "metadata: {name: x}", "metadata: {name: "+service.ID+".example.com"+more+"}", 1)
				}
				return strings.Replace(text, "metadata: {name: x}", "metadata: {name: "+service.ID+more+"}", 1)
			}
			b.settled(service, objects(t, object(test.v1, ""))[0])
			before := b.engine.Objects(service.ID)[0].UID
			service.TarballDigest = "d2"
			if result := b.pass(service, object(test.v2, "")); result.Sync != apply.SyncFailed || !strings.Contains(result.Message, "in place; annotate the object with") {
				t.Fatalf("%+v", result)
			}
			service.TarballDigest = "d3"
			result := b.pass(service, object(test.v2, `, annotations: {axle-cd.github.io/recreate: "true"}`))
			if test.waits && strings.Contains(result.Message, "it was deleted to be created again") {
				return
			}
			if result.Sync != apply.SyncSynced || b.engine.Objects(service.ID)[0].UID == before {
				t.Errorf("it is not made again: %+v", result)
			}
		})
	}
}

// sluggish answers reads of one path after a time.
type sluggish struct {
	next http.RoundTripper
	path string
	time.Duration
}

func (s sluggish) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, s.path) {
		select {
		case <-time.After(s.Duration):
		case <-r.Context().Done():
		}
	}
	return s.next.RoundTrip(r)
}

// The time that a pass waits for an object to go is not that of a request: an API server
// whose answer takes longer answers.
func TestAnObjectIsMadeAgainByASlowAPIServer(t *testing.T) {
	b := newBed(t, func(cfg *apply.Config) {
		cfg.REST.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
			return sluggish{next, "/configmaps/slow", 6 * time.Second}
		}
	})
	service := newService("d1")
	object := func(word string) string {
		return strings.Replace(anyOf("v1", "ConfigMap", "immutable: true\ndata: {a: "+word+"}"), "{name: x}", `{name: slow, annotations: {axle-cd.github.io/recreate: "true"}}`, 1)
	}
	b.settled(service, objects(t, object("a"))[0])
	service.TarballDigest = "d2"
	if result := b.pass(service, object("b")); result.Sync != apply.SyncSynced {
		t.Errorf("%+v", result)
	}
}
