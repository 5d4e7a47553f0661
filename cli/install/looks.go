package install

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pgcheck"
)

func core(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: resource}
}

// text is a value of the chart as a string.
func (r *Rendered) text(path ...string) string {
	text, _ := nested(r.Values, path...).(string)
	return text
}

func (r *Rendered) on(path ...string) bool { return nested(r.Values, path...) == true }

// lookNodes wants one node that takes pods.
func (i looker) lookNodes(ctx context.Context, _ *Rendered) error {
	list, err := i.cluster.Client.Resource(core("nodes")).List(ctx, metav1.ListOptions{Limit: 500})
	if err != nil {
		return doubt{fmt.Errorf("nodes cannot be listed: %w", err)}
	}
	for _, item := range list.Items {
		var node corev1.Node
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &node); err != nil {
			return err
		}
		ready := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
		if ready && !node.Spec.Unschedulable {
			return nil
		}
	}
	return fmt.Errorf("none of %[1]d nodes is ready and takes pods: %[2]s get nodes shows the reason; a cordoned one takes pods again with %[2]s uncordon", len(list.Items), i.kubectl())
}

// needed are the rights of an install: verb, group, resource, and whether the
// namespace bounds it.
var needed = []struct {
	verb, group, resource string
	namespaced            bool
}{
	{"patch", "apiextensions.k8s.io", "customresourcedefinitions", false}, {"patch", "rbac.authorization.k8s.io", "clusterroles", false},
	{"escalate", "rbac.authorization.k8s.io", "clusterroles", false}, {"patch", "rbac.authorization.k8s.io", "clusterrolebindings", false},
	{"patch", "apps", "statefulsets", true}, {"patch", "apps", "deployments", true}, {"create", "", "secrets", true},
	{"patch", "networking.k8s.io", "networkpolicies", true}, {"patch", "policy", "poddisruptionbudgets", true},
}

// lookRights asks the API server whether the caller may do what the install does.
func (i looker) lookRights(ctx context.Context, _ *Rendered) error {
	reviews := i.cluster.Client.Resource(schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectaccessreviews"})
	var missing []string
	for _, n := range needed {
		attributes := &authorizationv1.ResourceAttributes{Verb: n.verb, Group: n.group, Resource: n.resource}
		if n.namespaced {
			attributes.Namespace = i.namespace
		}
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&authorizationv1.SelfSubjectAccessReview{
			TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"},
			Spec:     authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes},
		})
		if err != nil {
			return err
		}
		answer, err := reviews.Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("the API server does not report the rights of this user: %w", err)
		}
		if allowed, _, _ := unstructured.NestedBool(answer.Object, "status", "allowed"); !allowed {
			missing = append(missing, n.verb+" "+n.resource)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("this user may not %s: use the kubeconfig of a cluster administrator, or have one bind cluster-admin to it for the install", strings.Join(missing, ", "))
	}
	return nil
}

// isDefault reports the mark of a default class.
func isDefault(annotations map[string]string, key string) bool { return annotations[key] == "true" }

// lookStorage wants the storage classes of the volumes.
func (i looker) lookStorage(ctx context.Context, r *Rendered) error {
	classes := schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"}
	if name := r.text("hub", "storage", "class"); name != "" {
		var class storagev1.StorageClass
		there, err := i.read(ctx, classes, "", name, &class)
		if err == nil && !there {
			err = fmt.Errorf("there is no storage class %s: %s get storageclass lists those that are there; set hub.storage.class", name, i.kubectl())
		}
		return err
	}
	list, err := i.cluster.Client.Resource(classes).List(ctx, metav1.ListOptions{})
	if err != nil {
		return doubt{fmt.Errorf("storage classes cannot be listed: %w", err)}
	}
	var names []string
	for _, item := range list.Items {
		if isDefault(item.GetAnnotations(), "storageclass.kubernetes.io/is-default-class") {
			return nil
		}
		names = append(names, item.GetName())
	}
	if len(names) == 0 {
		return fmt.Errorf("the cluster has no storage class, and the hub needs a volume: install a provisioner first, such as the CSI driver of your cloud")
	}
	return fmt.Errorf("no storage class is the default: set hub.storage.class to one of %s, or mark one with storageclass.kubernetes.io/is-default-class=true", strings.Join(names, ", "))
}

// lookSecrets wants every Secret that the values name.
func (i looker) lookSecrets(ctx context.Context, r *Rendered) error {
	var missing []string
	want := func(name, key, value string) error {
		if name == "" {
			return nil
		}
		secret, err := i.secretOf(ctx, name)
		switch {
		case err != nil:
			return err
		case secret == nil:
			missing = append(missing, fmt.Sprintf("%s (%s)", name, value))
		case key != "" && len(secret.Data[key]) == 0:
			missing = append(missing, fmt.Sprintf("key %s of %s (%s)", key, name, value))
		}
		return nil
	}
	for _, path := range [][]string{{"hub", "keySecret"}, {"hub", "valueBackendsSecret"}, {"hub", "loginProvidersSecret"}, {"database", "urlSecret"}} {
		if err := want(r.text(append(path, "name")...), r.text(append(path, "key")...), strings.Join(path, ".")); err != nil {
			return err
		}
	}
	if err := want(r.text("tls", "ca", "secretName"), r.text("tls", "ca", "key"), "tls.ca"); err != nil {
		return err
	}
	pulls, _ := nested(r.Values, "global", "imagePullSecrets").([]any)
	for _, name := range pulls {
		if err := want(fmt.Sprint(name), "", "global.imagePullSecrets"); err != nil {
			return err
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the namespace %s has no Secret %s: create it first, with %s -n %s create secret generic", i.namespace, strings.Join(missing, ", "), i.kubectl(), i.namespace)
	}
	return nil
}

// databaseWithin bounds the question to a database.
const databaseWithin = 10 * time.Second

// lookDatabase reads the database's URL, and asks the database whether the hub can live
// in it. Where it cannot be reached from here, the hub's own start asks the same, and
// the wait says so.
func (i looker) lookDatabase(ctx context.Context, r *Rendered) error {
	name := r.text("database", "urlSecret", "name")
	if name == "" {
		return nil
	}
	secret, err := i.secretOf(ctx, name)
	if err != nil || secret == nil {
		return err // lookSecrets says it
	}
	text := strings.TrimSpace(string(secret.Data[r.text("database", "urlSecret", "key")]))
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Host == "" || strings.Trim(u.Path, "/") == "" {
		// The text may hold a password, and the parser's error quotes it.
		return fmt.Errorf("the Secret %s holds no URL of Postgres: write postgres://USER:PASSWORD@HOST:PORT/DATABASE into its key %s", name, r.text("database", "urlSecret", "key"))
	}
	if ofCluster(u.Hostname()) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, databaseWithin)
	defer cancel()
	switch err := pgcheck.Try(ctx, text); {
	case errcode.Is(err, errcode.Unavailable):
		return doubt{fmt.Errorf("from here, %w", err)}
	case err != nil:
		return fmt.Errorf("the database of the Secret %s: %w", name, err)
	}
	return nil
}

// ofCluster reports whether a name means something in the cluster alone. Elsewhere
// another host may have it, which must not get the password.
func ofCluster(host string) bool {
	return !strings.ContainsAny(host, ".:") || strings.HasSuffix(host, ".svc") || strings.HasSuffix(host, ".cluster.local")
}

// lookCertificate wants a certificate that fits the address, or an issuer that makes one.
func (i looker) lookCertificate(ctx context.Context, r *Rendered) error {
	name, mode := r.text("tls", "secretName"), r.text("tls", "mode")
	if issuer := r.text("tls", "issuer", "name"); issuer != "" && (mode == "certManager" || mode == "ingress") {
		return i.lookIssuer(ctx, r.text("tls", "issuer", "kind"), issuer)
	}
	if name == "" || mode != "secret" && !r.on("ingress", "enabled") {
		return nil
	}
	secret, err := i.secretOf(ctx, name)
	if err != nil {
		return err
	}
	if secret == nil {
		return fmt.Errorf("the namespace %s has no Secret %s: %s -n %s create secret tls %s --cert FILE --key FILE, or let cert-manager make it (tls.issuer.name)", i.namespace, name, i.kubectl(), i.namespace, name)
	}
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	if err != nil {
		return fmt.Errorf("the Secret %s holds no certificate with its key (%w): put both into it again, with %s create secret tls", name, err, i.kubectl())
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return fmt.Errorf("the Secret %s holds a certificate that cannot be read: %w; put another one into it", name, err)
	}
	for _, host := range []string{hostOf(r.text("url")), hostOf(r.text("agentsUrl"))} {
		if host == "" || r.text("agentsUrl") != "" && mode != "secret" && host == hostOf(r.text("agentsUrl")) {
			continue // the other host of an Ingress has a Secret of its own
		}
		if err := leaf.VerifyHostname(host); err != nil {
			return fmt.Errorf("the certificate in the Secret %s is not for %s (%w): get one for this name, or set url to a name that it has", name, host, err)
		}
	}
	if time.Now().After(leaf.NotAfter) {
		return fmt.Errorf("the certificate in the Secret %s ended on %s: renew it", name, leaf.NotAfter.Format(time.DateOnly))
	}
	return nil
}

func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// lookIssuer wants an issuer of cert-manager that is ready.
func (i looker) lookIssuer(ctx context.Context, kind, name string) error {
	resource, namespace := schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "clusterissuers"}, ""
	if kind == "Issuer" {
		resource.Resource, namespace = "issuers", i.namespace
	}
	object := &struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}{}
	there, err := i.read(ctx, resource, namespace, name, object)
	if err != nil {
		return err
	}
	if !there {
		return fmt.Errorf("there is no %s %s, so the certificate would never come: install cert-manager, create the issuer, or give a certificate with tls.secretName", kind, name)
	}
	for _, c := range object.Status.Conditions {
		if c.Type == "Ready" && c.Status != metav1.ConditionTrue {
			return fmt.Errorf("the %s %s is not ready, so the certificate would never come: %s; repair it, or give a certificate with tls.secretName", kind, name, c.Message)
		}
	}
	return nil
}

// lookIngress wants the ingress class.
func (i looker) lookIngress(ctx context.Context, r *Rendered) error {
	if !r.on("ingress", "enabled") {
		return nil
	}
	classes := schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingressclasses"}
	list, err := i.cluster.Client.Resource(classes).List(ctx, metav1.ListOptions{})
	if err != nil {
		return doubt{fmt.Errorf("ingress classes cannot be listed: %w", err)}
	}
	name := r.text("ingress", "className")
	var names []string
	for _, item := range list.Items {
		if item.GetName() == name || name == "" && isDefault(item.GetAnnotations(), networkingv1.AnnotationIsDefaultIngressClass) {
			return nil
		}
		names = append(names, item.GetName())
	}
	switch {
	case len(names) == 0:
		return fmt.Errorf("the cluster has no ingress class, so nothing would serve the Ingress: install an ingress controller, or use gateway.enabled, or service.type=LoadBalancer")
	case name == "":
		return fmt.Errorf("no ingress class is the default: set ingress.className to one of %s", strings.Join(names, ", "))
	}
	return fmt.Errorf("there is no ingress class %s: set ingress.className to one of %s", name, strings.Join(names, ", "))
}

// lookGateway wants the Gateway API and the Gateways.
func (i looker) lookGateway(ctx context.Context, r *Rendered) error {
	if !r.on("gateway", "enabled") {
		return nil
	}
	parents, _ := nested(r.Values, "gateway", "parents").([]any)
	for _, p := range parents {
		parent, _ := p.(map[string]any)
		name, _ := parent["name"].(string)
		namespace, _ := parent["namespace"].(string)
		if namespace == "" {
			namespace = i.namespace
		}
		var found metav1.PartialObjectMetadata
		there, err := i.read(ctx, schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "gateways"}, namespace, name, &found)
		if err != nil {
			return err
		}
		if !there {
			return fmt.Errorf("there is no Gateway %s in namespace %s: install the Gateway API and a Gateway that serves HTTPS, or use ingress.enabled", name, namespace)
		}
	}
	return nil
}

// lookMonitoring wants the kinds of the Prometheus operator.
func (i looker) lookMonitoring(_ context.Context, r *Rendered) error {
	for value, kind := range map[string]string{"serviceMonitor": "ServiceMonitor", "rules": "PrometheusRule"} {
		if !r.on("monitoring", value) {
			continue
		}
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "monitoring.coreos.com/v1", "kind": kind}}
		if _, err := i.cluster.Resource(object); err != nil {
			return fmt.Errorf("the cluster does not know the kind %s: install the Prometheus operator first, or set monitoring.%s=false", kind, value)
		}
	}
	return nil
}

// lookAddress warns of a name that nobody resolves yet, because a load balancer may
// get it after the install.
func (i looker) lookAddress(ctx context.Context, r *Rendered) error {
	host := hostOf(r.text("url"))
	if net.ParseIP(host) == nil {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if _, err := net.DefaultResolver.LookupHost(ctx, host); err != nil {
			return doubt{fmt.Errorf("%s does not resolve here: point it at the load balancer once that has an address", host)}
		}
	}
	if !r.on("ingress", "enabled") && !r.on("gateway", "enabled") && r.text("service", "type") == "ClusterIP" && r.text("tls", "mode") == "ingress" {
		return doubt{fmt.Errorf("nothing outside of the cluster leads to the hub: set ingress.enabled, gateway.enabled or service.type=LoadBalancer, unless you bring that yourself")}
	}
	return nil
}
