package identity

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/agent/kube"
	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/seal"
	"github.com/axle-cd/axle/internal/secreterror"
)

const (
	SecretName  = "axle-agent-identity"
	identityKey = "identity.json"
	FileName    = "identity.json"
)

// Identity is the agent's identity at the hub, and the key of its disk. All of it is
// secret.
type Identity struct {
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

// Pin sets the present keys and remembers the former ones.
func (i *Identity) Pin(keys map[string]ed25519.PublicKey) {
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

// New returns an identity with new keys, which is not registered.
func New(hubURL, clusterUID string) (*Identity, error) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	return &Identity{PrivateKey: key.Seed(), SealKey: string(seal.NewKey()), HubURL: hubURL, ClusterUID: clusterUID}, nil
}

// Registered reports whether the hub knows the identity.
func (i *Identity) Registered() bool { return i.ClusterID != "" && len(i.SigningKeys) > 0 }

// Key is the private key; Internal if the identity is damaged.
func (i *Identity) Key() (ed25519.PrivateKey, error) {
	if len(i.PrivateKey) != ed25519.SeedSize {
		return nil, errcode.New(errcode.Internal, "the stored identity holds no key; delete it and register the cluster again")
	}
	return ed25519.NewKeyFromSeed(i.PrivateKey), nil
}

// Store stores the identity where only the agent can read it.
type Store interface {
	// Load returns nil if there is none.
	Load(ctx context.Context) (*Identity, error)
	Save(ctx context.Context, i *Identity) error
}

// File is for agents outside their cluster.
type File struct{ Path string }

// Load implements Store.
func (f File) Load(context.Context) (*Identity, error) {
	text, err := os.ReadFile(f.Path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseIdentity(text, f.Path)
}

// Save implements Store.
func (f File) Save(_ context.Context, i *Identity) error {
	text, err := json.Marshal(i)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(f.Path, text, 0o600)
}

// Secret is for agents inside their cluster.
type Secret struct {
	Client    kubernetes.Interface
	Namespace string
}

// Load implements Store.
func (s Secret) Load(ctx context.Context) (*Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, kube.Timeout)
	defer cancel()
	secret, err := s.Client.CoreV1().Secrets(s.Namespace).Get(ctx, SecretName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, kube.Explain("read Secret "+s.Namespace+"/"+SecretName, err)
	}
	return parseIdentity(secret.Data[identityKey], "Secret "+s.Namespace+"/"+SecretName)
}

// Save implements Store.
func (s Secret) Save(ctx context.Context, i *Identity) error {
	text, err := json.Marshal(i)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, kube.Timeout)
	defer cancel()
	secrets := s.Client.CoreV1().Secrets(s.Namespace)
	secret, err := secrets.Get(ctx, SecretName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		secret = &corev1.Secret{Type: corev1.SecretTypeOpaque}
		secret.Name, secret.Namespace = SecretName, s.Namespace
		secret.Labels = map[string]string{"app.kubernetes.io/part-of": "axle"}
		secret.Data = map[string][]byte{identityKey: text}
		_, err = secrets.Create(ctx, secret, metav1.CreateOptions{})
	case err == nil:
		secret.Data = map[string][]byte{identityKey: text}
		_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	if err != nil {
		return kube.Explain("write Secret "+s.Namespace+"/"+SecretName, secreterror.Of(err))
	}
	return nil
}

func parseIdentity(text []byte, where string) (*Identity, error) {
	var i Identity
	if err := json.Unmarshal(text, &i); err != nil || i.SealKey == "" {
		// The text of a JSON error may quote the content, which is secret.
		return nil, errcode.New(errcode.Internal, "%s is damaged; delete it and register the cluster again with a new bootstrap token", where)
	}
	if _, err := i.Key(); err != nil {
		return nil, err
	}
	return &i, nil
}
