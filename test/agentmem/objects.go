package agentmem

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

func serviceName(n int) string { return fmt.Sprintf("svc-%03d", n) }

// service is a service's files. Of ten objects five are ConfigMaps, two
// Deployments, and one each a Secret, a Service and a Role.
func service(n, objects int) map[string]string {
	draw := rand.New(rand.NewPCG(uint64(n), 7))
	files := map[string]string{}
	var b strings.Builder
	for k := range objects {
		name := fmt.Sprintf("%s-%03d", serviceName(n), k)
		b.WriteString("---\n")
		switch k % 10 {
		case 5, 6:
			deployment(&b, draw, name)
		case 7:
			settings(&b, draw, "Secret", "stringData", name)
		case 8:
			ports(&b, name)
		case 9:
			role(&b, name)
		default:
			settings(&b, draw, "ConfigMap", "data", name)
		}
		if k%20 == 19 || k == objects-1 {
			files[fmt.Sprintf("%s/objects-%03d.yaml", serviceName(n), k)] = b.String()
			b.Reset()
		}
	}
	return files
}

// settings has 30 keys, whose values compress as settings do.
func settings(b *strings.Builder, draw *rand.Rand, kind, field, name string) {
	fmt.Fprintf(b, "apiVersion: v1\nkind: %s\nmetadata:\n  name: %s\n%s:\n", kind, name, field)
	for n := range 30 {
		fmt.Fprintf(b, "  service.setting-%02d: %q\n", n, fmt.Sprintf("https://%x.example.test/v1?limit=%d&window=%ds&region=eu-central", draw.Uint64(), draw.IntN(1000), draw.IntN(600)))
	}
}

// deployment has two containers with variables, probes and volumes.
func deployment(b *strings.Builder, draw *rand.Rand, name string) {
	fmt.Fprintf(b, "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: %[1]s\n  labels: {app.kubernetes.io/name: %[1]s, app.kubernetes.io/part-of: shop}\nspec:\n  replicas: 0\n"+
		"  selector: {matchLabels: {app: %[1]s}}\n  template:\n    metadata: {labels: {app: %[1]s}}\n    spec:\n      containers:\n", name)
	for _, container := range []string{"app", "sidecar"} {
		fmt.Fprintf(b, "      - name: %s\n        image: registry.example.test/shop/%s:1.%d.%d\n        ports: [{name: %s, containerPort: 80%d}]\n        env:\n", container, container, draw.IntN(90), draw.IntN(90), container, 10+len(container))
		for n := range 14 {
			fmt.Fprintf(b, "        - {name: SETTING_%02d, value: %q}\n", n, fmt.Sprintf("%x", draw.Uint64()))
		}
		b.WriteString("        resources: {requests: {cpu: 50m, memory: 64Mi}, limits: {memory: 256Mi}}\n" +
			"        readinessProbe: {httpGet: {path: /ready, port: 8080}, periodSeconds: 5}\n        volumeMounts: [{name: settings, mountPath: /settings}]\n")
	}
	fmt.Fprintf(b, "      volumes: [{name: settings, configMap: {name: %s}}]\n", name)
}

func ports(b *strings.Builder, name string) {
	fmt.Fprintf(b, "apiVersion: v1\nkind: Service\nmetadata:\n  name: %[1]s\n  annotations:\n    example.test/description: %[2]q\nspec:\n  clusterIP: None\n  selector: {app: %[1]s}\n  ports:\n", name, strings.Repeat("what this is for and who to ask; ", 40))
	for n := range 12 {
		fmt.Fprintf(b, "  - {name: port-%d, port: %d, targetPort: %d}\n", n, 8000+n, 9000+n)
	}
}

func role(b *strings.Builder, name string) {
	fmt.Fprintf(b, "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: %s\nrules:\n", name)
	for n := range 40 {
		fmt.Fprintf(b, "- {apiGroups: [\"group-%02d.example.test\"], resources: [things, others], verbs: [get, list, watch, update]}\n", n)
	}
}
