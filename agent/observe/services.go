package observe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubepage"
	"github.com/axle-cd/axle/internal/telemetry"
)

const (
	servicesWithin = 10 * time.Second
	// maxServices bounds the stores of an answer, and servicesOfOne those of one list.
	maxServices, servicesOfOne = 100, 50
)

// known is a kind of Services by which a store is found, the best first of each type.
type known struct {
	of telemetry.Type
	// label selects them, or their name is one of names.
	label string
	names []string
	// ports are the names and numbers of ports, the best first.
	ports []string
	// prefix stands before the paths of the API.
	prefix string
}

// wellKnown are what charts and operators call the stores that they install.
var wellKnown = []known{
	{of: telemetry.Prometheus, names: []string{"prometheus-operated"}, ports: []string{"web", "http-web", "9090"}},
	{of: telemetry.Prometheus, label: "operated-prometheus=true", ports: []string{"web", "http-web", "9090"}},
	{of: telemetry.Prometheus, names: []string{"kube-prometheus-stack-prometheus", "prometheus-k8s", "prometheus-server", "prometheus"}, ports: []string{"http-web", "web", "http", "9090", "80"}},
	{of: telemetry.Prometheus, label: "app=kube-prometheus-stack-prometheus", ports: []string{"http-web", "web", "9090"}},
	{of: telemetry.Prometheus, label: "app.kubernetes.io/name=prometheus,app.kubernetes.io/component=server", ports: []string{"http", "web", "9090", "80"}},
	{of: telemetry.Prometheus, label: "app.kubernetes.io/name in (vmsingle,victoria-metrics-single)", ports: []string{"http", "8428", "8429"}},
	{of: telemetry.Prometheus, label: "app.kubernetes.io/name=vmselect", ports: []string{"http", "8481"}, prefix: "/select/0/prometheus"},
	{of: telemetry.Alertmanager, names: []string{"alertmanager-operated", "kube-prometheus-stack-alertmanager", "alertmanager-main", "prometheus-alertmanager", "alertmanager"}, ports: []string{"web", "http-web", "http", "9093"}},
	{of: telemetry.Alertmanager, label: "operated-alertmanager=true", ports: []string{"web", "http-web", "9093"}},
	{of: telemetry.Alertmanager, label: "app.kubernetes.io/name in (alertmanager,vmalertmanager)", ports: []string{"http-web", "web", "http", "9093"}},
	{of: telemetry.VictoriaLogs, label: "app.kubernetes.io/name in (vlsingle,vlogs,victoria-logs-single)", ports: []string{"http", "9428"}},
	{of: telemetry.VictoriaLogs, label: "app.kubernetes.io/name=vlselect", ports: []string{"http", "9471", "9428"}},
	{of: telemetry.VictoriaLogs, names: []string{"victoria-logs", "victoria-logs-single-server", "victorialogs"}, ports: []string{"http", "9428"}},
	{of: telemetry.Loki, names: []string{"loki-gateway", "loki-query-frontend", "loki-read", "loki"}, ports: []string{"http-metrics", "http", "3100", "80"}},
	{of: telemetry.Loki, label: "app.kubernetes.io/name=loki,app.kubernetes.io/component in (gateway,query-frontend,read,single-binary)", ports: []string{"http-metrics", "http", "3100", "80"}},
}

// Services returns the stores with well-known names, the best first of each type and
// namespace. Of those in one namespace that are of one type, one is returned: charts and
// operators make several Services for the same store.
func (o *Observer) Services(ctx context.Context) (*agentv1.ObservedServices, error) {
	ctx, cancel := context.WithTimeout(ctx, servicesWithin)
	defer cancel()
	client, err := kubepage.NewClient(o.conf)
	if err != nil {
		return nil, errcode.New(errcode.Internal, "the way to the API server: %w", err)
	}
	out, seen := &agentv1.ObservedServices{}, map[string]bool{}
	for _, k := range wellKnown {
		for _, options := range k.lists() {
			looked := 0
			_, err := kubepage.Objects(ctx, client, corev1.SchemeGroupVersion.WithResource("services"), metav1.NamespaceAll, options, func(u *unstructured.Unstructured) error {
				if looked++; looked > servicesOfOne {
					out.Incomplete = fmt.Sprintf("more than %d Services look like a store of the type %s", servicesOfOne, k.of)
					return kubepage.ErrEnough
				}
				var s corev1.Service
				if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &s); err != nil {
					return err
				}
				at := string(k.of) + "/" + s.Namespace
				port, scheme := k.port(&s)
				if port == "" || seen[at] || len(out.GetServices()) == maxServices {
					return nil
				}
				seen[at] = true
				out.Services = append(out.Services, &agentv1.ObservedService{Type: string(k.of), Namespace: s.Namespace, Name: s.Name, Port: port, Scheme: scheme, PathPrefix: k.prefix})
				return nil
			}, func(error) error { return nil }) // no store needs such an object
			if err != nil {
				return nil, errcode.New(errcode.Unavailable, "the agent cannot list the Services of its cluster to find stores of metrics and logs; give its account list on services, or name the store with axle telemetry-sources apply: %w", err)
			}
		}
	}
	slices.SortStableFunc(out.GetServices(), func(a, b *agentv1.ObservedService) int { return cmp.Compare(a.GetType(), b.GetType()) })
	return out, nil
}

// lists are the lists in which such Services are.
func (k known) lists() (all []metav1.ListOptions) {
	if k.label != "" {
		return []metav1.ListOptions{{LabelSelector: k.label, Limit: servicesOfOne}}
	}
	for _, name := range k.names {
		all = append(all, metav1.ListOptions{FieldSelector: "metadata.name=" + name, Limit: servicesOfOne})
	}
	return all
}

// port is the port of the API with its scheme, empty when the Service has none that fits.
// One that leads to a name outside of the cluster is no store of it.
func (k known) port(s *corev1.Service) (port, scheme string) {
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		return "", ""
	}
	for _, wanted := range k.ports {
		for _, p := range s.Spec.Ports {
			if number := strconv.Itoa(int(p.Port)); p.Name == wanted || number == wanted {
				if scheme = "http"; strings.Contains(p.Name, "https") || p.AppProtocol != nil && *p.AppProtocol == "https" {
					scheme = "https"
				}
				return number, scheme
			}
		}
	}
	return "", ""
}
