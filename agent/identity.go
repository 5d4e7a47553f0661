package agent

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/seal"
)

const (
	identitySecret = "axle-agent-identity"
	identityKey    = "identity.json"
	identityFile   = "identity.json"
	kubeTimeout    = 15 * time.Second
)

// identity is the agent's identity at the hub, and the key of its disk. All of it is
// secret.
type identity struct {
	// PrivateKey is the seed of the Ed25519 key.
	PrivateKey []byte `json:"privateKey"`
	// SealKey is a line of a key file; it seals specs on disk.
	SealKey string `json:"sealKey"`
	// HubURL is the hub that knows the identity.
	HubURL string `json:"hubURL"`
	// ClusterUID is the uid of kube-system when the cluster was registered.
	ClusterUID string `json:"clusterUID"`

	// The fields below are empty until the hub registered the cluster.
	ClusterID   string `json:"clusterID,omitempty"`
	ClusterName string `json:"clusterName,omitempty"`
	Token       string `json:"token,omitempty"`
	// TokenName identifies the bootstrap token of the registration.
	TokenName string `json:"tokenName,omitempty"`
	// ExpiresAt is by the hub's clock, ReceivedAt by ours; in microseconds.
	ExpiresAt   int64                        `json:"expiresAt,omitempty"`
	ReceivedAt  int64                        `json:"receivedAt,omitempty"`
	SigningKeys map[string]ed25519.PublicKey `json:"signingKeys,omitempty"`
	// FirstHeard: the first keys were trusted without a proof.
	FirstHeard bool `json:"firstHeard,omitempty"`
	// FormerKeys were pinned before; the list on disk may be signed by one.
	FormerKeys map[string]ed25519.PublicKey `json:"formerKeys,omitempty"`
}

// maxFormerKeys is enough for four years of keys that last 90 days.
const maxFormerKeys = 16

// pin sets the present keys and remembers the former ones.
func (i *identity) pin(keys map[string]ed25519.PublicKey) {
	former := map[string]ed25519.PublicKey{}
	for _, from := range []map[string]ed25519.PublicKey{i.SigningKeys, i.FormerKeys} {
		for id, key := range from {
			if keys[id] == nil && len(former) < maxFormerKeys {
				former[id] = key
			}
		}
	}
	i.SigningKeys, i.FormerKeys = keys, former
}

func newIdentity(hubURL, clusterUID string) (*identity, error) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	return &identity{PrivateKey: key.Seed(), SealKey: string(seal.NewKey()), HubURL: hubURL, ClusterUID: clusterUID}, nil
}

func (i *identity) registered() bool { return i.ClusterID != "" && len(i.SigningKeys) > 0 }

func (i *identity) key() (ed25519.PrivateKey, error) {
	if len(i.PrivateKey) != ed25519.SeedSize {
		return nil, errcode.New(errcode.Internal, "the stored identity holds no key; delete it and register the cluster again")
	}
	return ed25519.NewKeyFromSeed(i.PrivateKey), nil
}

// identityStore stores the identity where only the agent can read it.
type identityStore interface {
	// load returns nil if there is none.
	load(ctx context.Context) (*identity, error)
	save(ctx context.Context, i *identity) error
}

// fileIdentity is for agents outside their cluster.
type fileIdentity struct{ path string }

func (f fileIdentity) load(context.Context) (*identity, error) {
	text, err := os.ReadFile(f.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseIdentity(text, f.path)
}

func (f fileIdentity) save(_ context.Context, i *identity) error {
	text, err := json.Marshal(i)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(f.path, text, 0o600)
}

// secretIdentity is for agents inside their cluster.
type secretIdentity struct {
	client    kubernetes.Interface
	namespace string
}

func (s secretIdentity) load(ctx context.Context) (*identity, error) {
	ctx, cancel := context.WithTimeout(ctx, kubeTimeout)
	defer cancel()
	secret, err := s.client.CoreV1().Secrets(s.namespace).Get(ctx, identitySecret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, kubeError("read Secret "+s.namespace+"/"+identitySecret, err)
	}
	return parseIdentity(secret.Data[identityKey], "Secret "+s.namespace+"/"+identitySecret)
}

func (s secretIdentity) save(ctx context.Context, i *identity) error {
	text, err := json.Marshal(i)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, kubeTimeout)
	defer cancel()
	secrets := s.client.CoreV1().Secrets(s.namespace)
	secret, err := secrets.Get(ctx, identitySecret, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		secret = &corev1.Secret{Type: corev1.SecretTypeOpaque}
		secret.Name, secret.Namespace = identitySecret, s.namespace
		secret.Labels = map[string]string{"app.kubernetes.io/part-of": "axle"}
		secret.Data = map[string][]byte{identityKey: text}
		_, err = secrets.Create(ctx, secret, metav1.CreateOptions{})
	case err == nil:
		secret.Data = map[string][]byte{identityKey: text}
		_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	if err != nil {
		return kubeError("write Secret "+s.namespace+"/"+identitySecret, err)
	}
	return nil
}

func parseIdentity(text []byte, where string) (*identity, error) {
	var i identity
	if err := json.Unmarshal(text, &i); err != nil || i.SealKey == "" {
		// The text of a JSON error may quote the content, which is secret.
		return nil, errcode.New(errcode.Internal, "%s is damaged; delete it and register the cluster again with a new bootstrap token", where)
	}
	if _, err := i.key(); err != nil {
		return nil, err
	}
	return &i, nil
}

// clusterUID identifies the cluster itself.
func clusterUID(ctx context.Context, client kubernetes.Interface) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, kubeTimeout)
	defer cancel()
	ns, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", kubeError("read namespace kube-system", err)
	}
	return string(ns.UID), nil
}

func kubeError(what string, err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return errcode.New(errcode.Forbidden, "%s: the agent's account may not do that; give it the role in the agent's manifests: %w", what, err)
	}
	return errcode.New(errcode.Unavailable, "%s: %w", what, err)
}
