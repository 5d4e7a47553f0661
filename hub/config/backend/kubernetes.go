package backend

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/axle-cd/axle/internal/errcode"
)

// KubernetesConfig configures the Secrets of one namespace of a cluster.
// Without a kubeconfig it is the cluster that the hub runs in.
type KubernetesConfig struct {
	Namespace  string `json:"namespace"`
	Kubeconfig string `json:"kubeconfig,omitempty"`
}

// Kubernetes are Secrets of one namespace.
type Kubernetes struct {
	KubernetesConfig
	host   string
	client *http.Client
}

// NewKubernetes checks the configuration. It opens no connection.
func NewKubernetes(c KubernetesConfig) (*Kubernetes, error) {
	if c.Namespace == "" {
		return nil, errcode.New(errcode.Invalid, "namespace: is required")
	}
	var config *rest.Config
	var err error
	if c.Kubeconfig == "" {
		config, err = rest.InClusterConfig()
	} else {
		config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	}
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "kubeconfig: %w", err)
	}
	config.Timeout = callTimeout
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "kubeconfig: %w", err)
	}
	return &Kubernetes{c, strings.TrimSuffix(config.Host, "/"), client}, nil
}

const (
	kubernetesName = "the Kubernetes API"
	managedBy      = "app.kubernetes.io/managed-by"
	// owner is the value of that label on Secrets that the hub created.
	owner = "axle-hub"
	// clusterSecret is the type of Cluster API's Secrets.
	clusterSecret = "cluster.x-k8s.io/secret"
)

// kubeSecret holds the needed fields of a Secret.
type kubeSecret struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name            string            `json:"name"`
		Namespace       string            `json:"namespace"`
		ResourceVersion string            `json:"resourceVersion,omitempty"`
		Labels          map[string]string `json:"labels,omitempty"`
	} `json:"metadata"`
	Type string            `json:"type,omitempty"`
	Data map[string]string `json:"data"`
}

func (s *Kubernetes) url(name string) string {
	return s.host + "/api/v1/namespaces/" + escaped(s.Namespace) + "/secrets" + name
}

func (s *Kubernetes) ask(ctx context.Context, method, name string, body any) (answer, error) {
	return do(ctx, s.client, call{what: kubernetesName, method: method, url: s.url(name), body: body, header: http.Header{"Accept": {"application/json"}}})
}

func checkSecret(path string) error {
	if err := checkPath(path); err != nil || strings.Contains(path, "/") {
		return errcode.New(errcode.Invalid, "%.200q is not a valid name of a Secret", path)
	}
	return nil
}

func (s *Kubernetes) get(ctx context.Context, path string) (secret kubeSecret, found bool, err error) {
	if err := checkSecret(path); err != nil {
		return secret, false, err
	}
	a, err := s.ask(ctx, http.MethodGet, "/"+escaped(path), nil)
	if err != nil || a.status == http.StatusNotFound {
		return secret, false, err
	}
	if !a.ok() {
		return secret, false, refusal(kubernetesName, path, a)
	}
	if err = decode(kubernetesName, a, &secret); err == nil && secret.Type == clusterSecret {
		return kubeSecret{}, false, errcode.New(errcode.Forbidden, "Secret %q is of Cluster API: it makes its reader an administrator of a cluster, so its values are not used", path)
	}
	return secret, true, err
}

// Read implements config.Backend.
func (s *Kubernetes) Read(ctx context.Context, path string) (map[string]string, error) {
	secret, found, err := s.get(ctx, path)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, errcode.New(errcode.NotFound, "namespace %s has no Secret %q", s.Namespace, path)
	}
	out := make(map[string]string, len(secret.Data))
	for key, encoded := range secret.Data {
		raw, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return nil, errcode.New(errcode.Unavailable, "%s sent an answer that cannot be parsed", kubernetesName)
		}
		out[key] = string(raw)
	}
	return out, nil
}

// Write implements config.Backend. It does not touch a Secret that the hub did
// not create.
func (s *Kubernetes) Write(ctx context.Context, path string, values map[string]string) error {
	for range 5 {
		secret, found, err := s.get(ctx, path)
		if err != nil {
			return err
		}
		if found && secret.Metadata.Labels[managedBy] != owner {
			return errcode.New(errcode.Conflict, "Secret %s/%s does not belong to the hub: it has no label %s=%s", s.Namespace, path, managedBy, owner)
		}
		secret.APIVersion, secret.Kind, secret.Type = "v1", "Secret", "Opaque"
		secret.Metadata.Name, secret.Metadata.Namespace = path, s.Namespace
		secret.Metadata.Labels = map[string]string{managedBy: owner}
		secret.Data = make(map[string]string, len(values))
		for key, value := range values {
			secret.Data[key] = base64.StdEncoding.EncodeToString([]byte(value))
		}
		method, name := http.MethodPost, ""
		if found {
			method, name = http.MethodPut, "/"+escaped(path)
		}
		a, err := s.ask(ctx, method, name, secret)
		if err != nil || a.ok() {
			return err
		}
		if a.status != http.StatusConflict {
			return refusal(kubernetesName, path, a)
		}
	}
	return errcode.New(errcode.Unavailable, "Secret %s/%s is changed by others at the same time; try again", s.Namespace, path)
}

// Delete implements config.Backend.
func (s *Kubernetes) Delete(ctx context.Context, path string) error {
	secret, found, err := s.get(ctx, path)
	if err != nil || !found {
		return err
	}
	if secret.Metadata.Labels[managedBy] != owner {
		return errcode.New(errcode.Conflict, "Secret %s/%s does not belong to the hub: it has no label %s=%s", s.Namespace, path, managedBy, owner)
	}
	a, err := s.ask(ctx, http.MethodDelete, "/"+escaped(path), nil)
	if err == nil && !a.ok() && a.status != http.StatusNotFound {
		err = refusal(kubernetesName, path, a)
	}
	return err
}

// Check implements config.Backend.
func (s *Kubernetes) Check(ctx context.Context) error {
	_, _, err := s.get(ctx, "axle-check")
	return err
}

// Limit implements config.Backend: a Secret has 1 MiB.
func (s *Kubernetes) Limit() int { return 512 << 10 }

// jsonText encodes a value as JSON.
func jsonText(value any) (string, error) {
	out, err := json.Marshal(value)
	return string(out), err
}
