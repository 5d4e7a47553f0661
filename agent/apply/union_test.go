package apply_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/agent/apply"
)

// workload is a Deployment, DaemonSet or StatefulSet with fields of its spec and its pod
// spec, both in flow style.
func workload(kind, spec, pod string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: %s
metadata: {name: x}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {%s}}%s}`, kind, pod, comma(spec))
}

func comma(fields string) string {
	if fields == "" {
		return ""
	}
	return ", " + fields
}

func container(fields string) string {
	return workload("Deployment", "", "containers: [{name: c, image: i"+comma(fields)+"}]")
}

func volume(source string) string {
	return workload("Deployment", "", "containers: [{name: c, image: i}], volumes: [{name: v"+comma(source)+"}, {name: w}]")
}

func serviceOf(spec string) string {
	return "apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {" + spec + "}"
}

// anyOf is a body of a kind and a spec, in flow style.
func anyOf(apiVersion, kind, spec string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s}\n%s", apiVersion, kind, "x", spec)
}

// unions are pairs of revisions between which a member of a union changes, to which the
// API server had given defaults.
var unions = map[string][2]string{
	"strategy of a Deployment":             {workload("Deployment", "", "containers: [{name: c, image: i}]"), workload("Deployment", "strategy: {type: Recreate}", "containers: [{name: c, image: i}]")},
	"half a strategy of a Deployment":      {workload("Deployment", "strategy: {rollingUpdate: {maxSurge: 2}}", "containers: [{name: c, image: i}]"), workload("Deployment", "strategy: {type: Recreate}", "containers: [{name: c, image: i}]")},
	"strategy of a Deployment, back":       {workload("Deployment", "strategy: {type: Recreate}", "containers: [{name: c, image: i}]"), workload("Deployment", "", "containers: [{name: c, image: i}]")},
	"strategy of a DaemonSet":              {workload("DaemonSet", "", "containers: [{name: c, image: i}]"), workload("DaemonSet", "updateStrategy: {type: OnDelete}", "containers: [{name: c, image: i}]")},
	"strategy of a StatefulSet":            {workload("StatefulSet", "serviceName: x", "containers: [{name: c, image: i}]"), workload("StatefulSet", "serviceName: x, updateStrategy: {type: OnDelete}", "containers: [{name: c, image: i}]")},
	"readinessProbe httpGet to tcpSocket":  {container("readinessProbe: {httpGet: {port: 80}}"), container("readinessProbe: {tcpSocket: {port: 80}}")},
	"livenessProbe httpGet to exec":        {container("livenessProbe: {httpGet: {port: 80}}"), container("livenessProbe: {exec: {command: [a]}}")},
	"startupProbe grpc to httpGet":         {container("startupProbe: {grpc: {port: 80}}"), container("startupProbe: {httpGet: {port: 80}}")},
	"livenessProbe exec to grpc":           {container("livenessProbe: {exec: {command: [a]}}"), container("livenessProbe: {grpc: {port: 80}}")},
	"preStop httpGet to exec":              {container("lifecycle: {preStop: {httpGet: {port: 80}}}"), container("lifecycle: {preStop: {exec: {command: [a]}}}")},
	"postStart httpGet to sleep":           {container("lifecycle: {postStart: {httpGet: {port: 80}}}"), container("lifecycle: {postStart: {sleep: {seconds: 1}}}")},
	"env fieldRef to value":                {container("env: [{name: E, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]"), container("env: [{name: E, value: v}]")},
	"env value to fieldRef":                {container("env: [{name: E, value: v}]"), container("env: [{name: E, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]")},
	"env fieldRef to configMapKeyRef":      {container("env: [{name: E, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]"), container("env: [{name: E, valueFrom: {configMapKeyRef: {name: a, key: b}}}]")},
	"env resourceFieldRef to value":        {container("env: [{name: E, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]"), container("env: [{name: E, value: v}]")},
	"env secretKeyRef to value":            {container("env: [{name: E, valueFrom: {secretKeyRef: {name: a, key: b}}}]"), container("env: [{name: E, value: v}]")},
	"env secretKeyRef to value, reordered": {container("env: [{name: E, valueFrom: {fieldRef: {fieldPath: metadata.name}}}, {name: F, value: f}]"), container("env: [{name: F, value: f}, {name: E, value: v}]")},
	"envFrom configMapRef to secretRef":    {container("envFrom: [{configMapRef: {name: a}}]"), container("envFrom: [{secretRef: {name: a}}]")},
	"volume without a source to configMap": {volume(""), volume("configMap: {name: a}")},
	"volume configMap to secret":           {volume("configMap: {name: a}"), volume("secret: {secretName: a}")},
	"volume secret to emptyDir":            {volume("secret: {secretName: a}"), volume("emptyDir: {}")},
	"volume emptyDir to claim":             {volume("emptyDir: {}"), volume("persistentVolumeClaim: {claimName: a}")},
	"volume hostPath to configMap":         {volume("hostPath: {path: /a}"), volume("configMap: {name: a}")},
	"volume projected to configMap":        {volume("projected: {sources: [{serviceAccountToken: {path: a}}]}"), volume("configMap: {name: a}")},
	"volume downwardAPI to projected":      {volume("downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.name}}]}"), volume("projected: {sources: [{downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.name}}]}}]}")},
	"volume ephemeral to emptyDir":         {volume("ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}"), volume("emptyDir: {}")},
	"volume iscsi to emptyDir":             {volume("iscsi: {targetPortal: a, iqn: 'iqn.2015-02.example.com:test', lun: 0}"), volume("emptyDir: {}")},
	"volume rbd to emptyDir":               {volume("rbd: {monitors: [a], image: b}"), volume("emptyDir: {}")},
	"volume azureDisk to emptyDir":         {volume("azureDisk: {diskName: a, diskURI: 'https://blob/a'}"), volume("emptyDir: {}")},
	"volume scaleIO to emptyDir":           {volume("scaleIO: {gateway: a, system: b, secretRef: {name: c}, volumeName: d}"), volume("emptyDir: {}")},
	"Service ClusterIP to ExternalName":    {serviceOf("ports: [{port: 80}], selector: {a: b}"), serviceOf("type: ExternalName, externalName: a.example.com")},
	"Service ExternalName to ClusterIP":    {serviceOf("type: ExternalName, externalName: a.example.com"), serviceOf("ports: [{port: 80}], selector: {a: b}")},
	"Service NodePort to ClusterIP":        {serviceOf("type: NodePort, ports: [{port: 80}]"), serviceOf("ports: [{port: 80}]")},
	"Service LoadBalancer to ClusterIP":    {serviceOf("type: LoadBalancer, ports: [{port: 80}]"), serviceOf("type: ClusterIP, ports: [{port: 80}]")},
	"Service LoadBalancer to ExternalName": {serviceOf("type: LoadBalancer, ports: [{port: 80}]"), serviceOf("type: ExternalName, externalName: a.example.com")},
	"Service Local to Cluster":             {serviceOf("type: LoadBalancer, externalTrafficPolicy: Local, ports: [{port: 80}]"), serviceOf("type: LoadBalancer, ports: [{port: 80}]")},
	"Service session affinity":             {serviceOf("sessionAffinity: ClientIP, ports: [{port: 80}]"), serviceOf("sessionAffinity: None, ports: [{port: 80}]")},
	"Service session affinity, left out":   {serviceOf("sessionAffinity: ClientIP, ports: [{port: 80}]"), serviceOf("ports: [{port: 80}]")},
	"webhook service to url":               {webhook("service: {namespace: a, name: b}"), webhook("url: 'https://a.example.com/b'")},
	"webhook url to service":               {webhook("url: 'https://a.example.com/b'"), webhook("service: {namespace: a, name: b}")},
	"PriorityLevel queue to reject":        {priority("type: Limited, limited: {limitResponse: {type: Queue, queuing: {}}}"), priority("type: Limited, limited: {limitResponse: {type: Reject}}")},
	"HPA metric":                           {hpa("metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 5}}}]"), hpa("metrics: [{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 5Gi}}}]")},
	"HPA without metrics to one":           {hpa(""), hpa("metrics: [{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 5Gi}}}], behavior: {scaleDown: {selectPolicy: Disabled}}")},
	"PDB min to max":                       {anyOf("policy/v1", "PodDisruptionBudget", "spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}"), anyOf("policy/v1", "PodDisruptionBudget", "spec: {maxUnavailable: 1, selector: {matchLabels: {a: b}}}")},
	"NetworkPolicy peers":                  {anyOf("networking.k8s.io/v1", "NetworkPolicy", "spec: {podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8}}], ports: [{port: 80}]}]}"), anyOf("networking.k8s.io/v1", "NetworkPolicy", "spec: {podSelector: {}, ingress: [{from: [{podSelector: {}}], ports: [{port: 80, endPort: 81}]}]}")},
	"Ingress backend":                      {anyOf("networking.k8s.io/v1", "Ingress", "spec: {defaultBackend: {service: {name: a, port: {number: 80}}}}"), anyOf("networking.k8s.io/v1", "Ingress", "spec: {defaultBackend: {resource: {kind: A, name: b}}}")},
	"Ingress port":                         {anyOf("networking.k8s.io/v1", "Ingress", "spec: {defaultBackend: {service: {name: a, port: {number: 80}}}}"), anyOf("networking.k8s.io/v1", "Ingress", "spec: {defaultBackend: {service: {name: a, port: {name: http}}}}")},
	"CronJob's probe":                      {cronJob("livenessProbe: {httpGet: {port: 80}}"), cronJob("livenessProbe: {tcpSocket: {port: 80}}")},
	"CRD conversion":                       {conversion("strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {namespace: a, name: b}}}"), conversion("strategy: None")},
	"union of a custom resource":           {anyOf("test.example.com/v1", "Union", "spec: {a: {port: 1}}"), anyOf("test.example.com/v1", "Union", "spec: {b: {name: x}}")},
}

func webhook(client string) string {
	return anyOf("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration",
		"webhooks: [{name: a.example.com, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {"+client+"}, namespaceSelector: {matchLabels: {no: where}}, failurePolicy: Ignore}]")
}

func priority(spec string) string {
	return anyOf("flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration", "spec: {"+spec+"}")
}

func hpa(spec string) string {
	return anyOf("autoscaling/v2", "HorizontalPodAutoscaler", "spec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: a, apiVersion: apps/v1}"+comma(spec)+"}")
}

func cronJob(fields string) string {
	return anyOf("batch/v1", "CronJob", "spec: {schedule: '@daily', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, "+fields+"}]}}}}}")
}

func conversion(fields string) string {
	return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: converted.test.example.com}\nspec: {group: test.example.com, scope: Namespaced, names: {kind: Converted, plural: converted}, conversion: {" + fields +
		"}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}"
}

const unionCRD = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"unions.test.example.com"},
"spec":{"group":"test.example.com","scope":"Namespaced","names":{"kind":"Union","plural":"unions","singular":"union"},"versions":[{"name":"v1","served":true,"storage":true,
"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","x-kubernetes-validations":[{"rule":"has(self.a) != has(self.b)","message":"exactly one of a and b is needed"}],"properties":{
"a":{"type":"object","properties":{"port":{"type":"integer"},"scheme":{"type":"string","default":"HTTP"}}},
"b":{"type":"object","properties":{"name":{"type":"string"}}}}}}}}}]}}`

// Another member of a union replaces one that has defaults of the API server, at once, in
// a diff as in a pass, and what another manager has written is never removed for it.
func TestUnionsChangeTheirMember(t *testing.T) {
	b := newBed(t, nil)
	crds := b.dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := crds.Create(t.Context(), objects(t, unionCRD)[0], metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for name, versions := range unions {
		t.Run(name, func(t *testing.T) {
			b := *b
			b.t = t
			service := newService("d1")
			for n, text := range versions {
				text = strings.ReplaceAll(text, "metadata: {name: x}", "metadata: {name: "+service.ID+"}")
				service.TarballDigest = fmt.Sprintf("d%d", n)
				o := objects(t, text)[0]
				if n == 1 {
					found, err := b.engine.Diff(t.Context(), b.permit(b.engine, service), service, objects(t, text))
					if err != nil || len(found.Differences) != 1 || found.Differences[0].Action != "update" {
						t.Errorf("the diff is %+v, %v", found, err)
					}
				}
				b.settled(service, o)
			}
		})
	}
}

// A member that another manager has written stays, and the service says why it fails.
func TestUnionsKeepWhatOthersWrote(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	b.pass(service, workload("Deployment", "", "containers: [{name: c, image: i}]"))
	patch := `{"spec":{"strategy":{"rollingUpdate":{"maxSurge":3}}}}`
	if _, err := b.admin.AppsV1().Deployments(service.Namespace).Patch(t.Context(), "x", types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "someone"}); err != nil {
		t.Fatal(err)
	}
	service.TarballDigest = "d2"
	result := b.pass(service, workload("Deployment", "strategy: {type: Recreate}", "containers: [{name: c, image: i}]"))
	if result.Sync != apply.SyncFailed || !strings.Contains(result.Message, "'Recreate'") {
		t.Errorf("%+v", result)
	}
	live, err := b.admin.AppsV1().Deployments(service.Namespace).Get(t.Context(), "x", metav1.GetOptions{})
	if err != nil || live.Spec.Strategy.RollingUpdate.MaxSurge.IntValue() != 3 {
		t.Errorf("%v %+v", err, live.Spec.Strategy)
	}
}
