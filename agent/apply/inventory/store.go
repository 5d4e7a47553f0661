package inventory

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/agent/apply/kubeclient"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
)

const (
	// Label holds the service id on each Secret of an inventory, and inventoryCluster the
	// cluster's.
	Label            = "axle-cd.github.io/inventory"
	inventoryCluster = "axle-cd.github.io/inventory-cluster"
	inventoryKey     = "inventory"
	// listPage bounds one page of the first list.
	listPage = 200
)

var secretKind = kubeobj.Kind{Version: "v1", Kind: "Secret", Resource: "secrets", Namespaced: true}

// Store keeps inventories as Secrets axle-inventory-<service>-<n>. The Secret with n
// = 0 is written last and lists the valid others, so an interrupted write leaves the
// previous inventory.
type Store struct {
	Client    *kubeclient.Sender
	Namespace string
	Cluster   string
}

func secretName(service string, n int) string { return fmt.Sprintf("axle-inventory-%s-%d", service, n) }

func (s *Store) path(name string) string { return kubeclient.Path(secretKind, s.Namespace, name) }

// List reads the inventories of all services, or of one. It returns unreadable ones
// separately, so that one damaged Secret stops only one service.
func (s *Store) List(ctx context.Context, service string) (all map[string]*Inventory, broken map[string]error, err error) {
	selector := Label
	if service != "" {
		selector += "=" + service
	}
	shards := map[string]map[int][]byte{}
	versions := map[string]string{}
	params := map[string]string{"labelSelector": selector, "limit": strconv.Itoa(listPage)}
	for {
		var page corev1.SecretList
		if err := s.Client.Raw(ctx, s.path(""), params, &page); err != nil {
			return nil, nil, kubeclient.Unavailable(err)
		}
		for _, secret := range page.Items {
			id, n, ok := s.parseName(secret.ObjectMeta)
			if !ok {
				continue
			}
			if shards[id] == nil {
				shards[id] = map[int][]byte{}
			}
			shards[id][n] = secret.Data[inventoryKey]
			if n == 0 {
				versions[id] = secret.ResourceVersion
			}
		}
		if page.Continue == "" {
			break
		}
		params["continue"] = page.Continue
	}
	all, broken = assemble(shards, versions)
	return all, broken, nil
}

// assemble reads all valid inventories. An inventory without its first Secret was
// never completed or is half deleted; it is ignored.
func assemble(shards map[string]map[int][]byte, versions map[string]string) (map[string]*Inventory, map[string]error) {
	all, broken := map[string]*Inventory{}, map[string]error{}
	for id, parts := range shards {
		if parts[0] == nil {
			continue
		}
		i, err := decode(parts)
		if err == nil && i.Service != id {
			err = fmt.Errorf("it holds the entries of service %s", i.Service)
		}
		if err != nil {
			broken[id] = errcode.New(errcode.Internal, "inventory of service %s: %w; restore its Secrets, or delete them to start again (then nothing old is pruned)", id, err)
			continue
		}
		i.Version = versions[id]
		all[id] = i
	}
	return all, broken
}

// Services returns the services that have an inventory, without reading one.
func (s *Store) Services(ctx context.Context) (map[string]bool, error) {
	have := map[string]bool{}
	params := map[string]string{"labelSelector": Label, "limit": strconv.Itoa(listPage)}
	for {
		page, err := s.Client.List(ctx, s.path(""), params)
		if err != nil {
			return nil, kubeclient.Unavailable(err)
		}
		for _, secret := range page.Items {
			if id, n, ok := s.parseName(secret.ObjectMeta); ok && n == 0 {
				have[id] = true
			}
		}
		if page.Continue == "" {
			return have, nil
		}
		params["continue"] = page.Continue
	}
}

func (s *Store) parseName(secret metav1.ObjectMeta) (service string, n int, ok bool) {
	service = secret.Labels[Label]
	rest, found := strings.CutPrefix(secret.Name, "axle-inventory-"+service+"-")
	if !found || service == "" || secret.Labels[inventoryCluster] != s.Cluster {
		return "", 0, false
	}
	n, err := strconv.Atoi(rest)
	return service, n, err == nil && n >= 0
}

// Save writes an inventory, on condition that nobody else has written it. Conflict:
// somebody has; read it again.
func (s *Store) Save(ctx context.Context, i *Inventory) error {
	old := i.Shards
	first, more, err := i.encode(func(count int) []int { return freeNumbers(old, count) })
	if err != nil {
		return errcode.New(errcode.Internal, "pack the inventory of service %s: %w", i.Service, err)
	}
	for _, n := range i.Shards {
		if err := s.put(ctx, i.Service, n, more[n], ""); err != nil {
			return s.explain(i.Service, err)
		}
	}
	meta, err := s.putFirst(ctx, i, first)
	if err != nil {
		return s.explain(i.Service, err)
	}
	i.Version, i.StoredSync = meta.ResourceVersion, i.SyncRequest
	s.drop(ctx, i.Service, old)
	return nil
}

func (s *Store) putFirst(ctx context.Context, i *Inventory, data []byte) (*metav1.PartialObjectMetadata, error) {
	secret := s.secret(i.Service, 0, data)
	if i.Version == "" {
		return s.Client.Write(ctx, http.MethodPost, s.path(""), secret)
	}
	secret.ResourceVersion = i.Version
	meta, err := s.Client.Write(ctx, http.MethodPut, s.path(secret.Name), secret)
	if apierrors.IsNotFound(err) {
		// Somebody deleted it; its content is still known here.
		secret.ResourceVersion = ""
		return s.Client.Write(ctx, http.MethodPost, s.path(""), secret)
	}
	return meta, err
}

// put writes one of the further shards, over anything that an earlier write left.
func (s *Store) put(ctx context.Context, service string, n int, data []byte, version string) error {
	secret := s.secret(service, n, data)
	secret.ResourceVersion = version
	_, err := s.Client.Write(ctx, http.MethodPost, s.path(""), secret)
	if apierrors.IsAlreadyExists(err) {
		_, err = s.Client.Write(ctx, http.MethodPut, s.path(secret.Name), secret)
	}
	return err
}

func (s *Store) secret(service string, n int, data []byte) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: secretName(service, n), Namespace: s.Namespace,
			Labels: map[string]string{Label: service, inventoryCluster: s.Cluster}},
		Type: "axle-cd.github.io/inventory",
		Data: map[string][]byte{inventoryKey: data},
	}
}

// drop deletes shards that no state lists. A later write or the drain deletes those
// that fail here; nothing reads them.
func (s *Store) drop(ctx context.Context, service string, numbers []int) {
	for _, n := range numbers {
		_ = s.erase(ctx, service, n)
	}
}

func (s *Store) erase(ctx context.Context, service string, n int) error {
	ref := kubeobj.Ref{Kind: "Secret", Namespace: s.Namespace, Name: secretName(service, n)}
	meta, err := s.Client.Get(ctx, secretKind, ref)
	if err != nil || meta == nil {
		return err
	}
	_, err = s.Client.Remove(ctx, secretKind, ref, meta.UID, meta.ResourceVersion)
	return err
}

// Remove deletes the whole inventory, its first Secret last.
func (s *Store) Remove(ctx context.Context, i *Inventory) error {
	for _, n := range append(slices.Clone(i.Shards), 0) {
		if err := s.erase(ctx, i.Service, n); err != nil {
			return s.explain(i.Service, err)
		}
	}
	return nil
}

func (s *Store) explain(service string, err error) error {
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return errcode.New(errcode.Conflict, "the inventory of service %s was written by somebody else: does a second agent run in this cluster? The next pass reads it again", service)
	case kubeclient.Away(err), apierrors.IsInternalError(err):
		return kubeclient.Unavailable(err)
	case apierrors.IsNotFound(err):
		return errcode.New(errcode.NotFound, "write the inventory of service %s: %w; create namespace %s", service, err, s.Namespace)
	}
	return errcode.New(errcode.Forbidden, "write the inventory of service %s into namespace %s: %w", service, s.Namespace, err)
}

// freeNumbers returns count numbers from 1 that are not taken.
func freeNumbers(taken []int, count int) []int {
	var free []int
	for n := 1; len(free) < count; n++ {
		if !slices.Contains(taken, n) {
			free = append(free, n)
		}
	}
	return free
}
