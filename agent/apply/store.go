package apply

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

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
)

const (
	// inventoryLabel holds the service id on each Secret of an inventory, and
	// inventoryCluster the cluster's.
	inventoryLabel   = "axle-cd.github.io/inventory"
	inventoryCluster = "axle-cd.github.io/inventory-cluster"
	inventoryKey     = "inventory"
	// listPage bounds one page of the first list.
	listPage = 200
)

var secretKind = kubeobj.Kind{Version: "v1", Kind: "Secret", Resource: "secrets", Namespaced: true}

// store keeps inventories as Secrets axle-inventory-<service>-<n>. The Secret with n
// = 0 is written last and lists the valid others, so an interrupted write leaves the
// previous inventory.
type store struct {
	client    *sender
	namespace string
	cluster   string
}

func secretName(service string, n int) string { return fmt.Sprintf("axle-inventory-%s-%d", service, n) }

func (s *store) path(name string) string { return path(secretKind, s.namespace, name) }

// list reads the inventories of all services, or of one. It returns unreadable ones
// separately, so that one damaged Secret stops only one service.
func (s *store) list(ctx context.Context, service string) (all map[string]*inventory, broken map[string]error, err error) {
	selector := inventoryLabel
	if service != "" {
		selector += "=" + service
	}
	shards := map[string]map[int][]byte{}
	versions := map[string]string{}
	params := map[string]string{"labelSelector": selector, "limit": strconv.Itoa(listPage)}
	for {
		var page corev1.SecretList
		if err := s.client.raw(ctx, s.path(""), params, &page); err != nil {
			return nil, nil, unavailable(err)
		}
		for _, secret := range page.Items {
			id, n, ok := s.parseName(&secret)
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
func assemble(shards map[string]map[int][]byte, versions map[string]string) (map[string]*inventory, map[string]error) {
	all, broken := map[string]*inventory{}, map[string]error{}
	for id, parts := range shards {
		if parts[0] == nil {
			continue
		}
		i, err := decode(parts)
		if err == nil && i.service != id {
			err = fmt.Errorf("it holds the entries of service %s", i.service)
		}
		if err != nil {
			broken[id] = errcode.New(errcode.Internal, "inventory of service %s: %w; restore its Secrets, or delete them to start again (then nothing old is pruned)", id, err)
			continue
		}
		i.version = versions[id]
		all[id] = i
	}
	return all, broken
}

func (s *store) parseName(secret *corev1.Secret) (service string, n int, ok bool) {
	service = secret.Labels[inventoryLabel]
	rest, found := strings.CutPrefix(secret.Name, "axle-inventory-"+service+"-")
	if !found || service == "" || secret.Labels[inventoryCluster] != s.cluster {
		return "", 0, false
	}
	n, err := strconv.Atoi(rest)
	return service, n, err == nil && n >= 0
}

// save writes an inventory, on condition that nobody else has written it. Conflict:
// somebody has; read it again.
func (s *store) save(ctx context.Context, i *inventory) error {
	old := i.shards
	first, more, err := i.encode(func(count int) []int { return freeNumbers(old, count) })
	if err != nil {
		return errcode.New(errcode.Internal, "pack the inventory of service %s: %w", i.service, err)
	}
	for _, n := range i.shards {
		if err := s.put(ctx, i.service, n, more[n], ""); err != nil {
			return s.explain(i.service, err)
		}
	}
	meta, err := s.putFirst(ctx, i, first)
	if err != nil {
		return s.explain(i.service, err)
	}
	i.version, i.storedSync = meta.ResourceVersion, i.syncRequest
	s.drop(ctx, i.service, old)
	return nil
}

func (s *store) putFirst(ctx context.Context, i *inventory, data []byte) (*metav1.PartialObjectMetadata, error) {
	secret := s.secret(i.service, 0, data)
	if i.version == "" {
		return s.client.write(ctx, http.MethodPost, s.path(""), secret)
	}
	secret.ResourceVersion = i.version
	meta, err := s.client.write(ctx, http.MethodPut, s.path(secret.Name), secret)
	if apierrors.IsNotFound(err) {
		// Somebody deleted it; its content is still known here.
		secret.ResourceVersion = ""
		return s.client.write(ctx, http.MethodPost, s.path(""), secret)
	}
	return meta, err
}

// put writes one of the further shards, over anything that an earlier write left.
func (s *store) put(ctx context.Context, service string, n int, data []byte, version string) error {
	secret := s.secret(service, n, data)
	secret.ResourceVersion = version
	_, err := s.client.write(ctx, http.MethodPost, s.path(""), secret)
	if apierrors.IsAlreadyExists(err) {
		_, err = s.client.write(ctx, http.MethodPut, s.path(secret.Name), secret)
	}
	return err
}

func (s *store) secret(service string, n int, data []byte) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: secretName(service, n), Namespace: s.namespace,
			Labels: map[string]string{inventoryLabel: service, inventoryCluster: s.cluster}},
		Type: "axle-cd.github.io/inventory",
		Data: map[string][]byte{inventoryKey: data},
	}
}

// drop deletes shards that no state lists. A later write or the drain deletes those
// that fail here; nothing reads them.
func (s *store) drop(ctx context.Context, service string, numbers []int) {
	for _, n := range numbers {
		_ = s.erase(ctx, service, n)
	}
}

func (s *store) erase(ctx context.Context, service string, n int) error {
	ref := kubeobj.Ref{Kind: "Secret", Namespace: s.namespace, Name: secretName(service, n)}
	meta, err := s.client.get(ctx, secretKind, ref)
	if err != nil || meta == nil {
		return err
	}
	_, err = s.client.remove(ctx, secretKind, ref, meta.UID, meta.ResourceVersion)
	return err
}

// remove deletes the whole inventory, its first Secret last.
func (s *store) remove(ctx context.Context, i *inventory) error {
	for _, n := range append(slices.Clone(i.shards), 0) {
		if err := s.erase(ctx, i.service, n); err != nil {
			return s.explain(i.service, err)
		}
	}
	return nil
}

func (s *store) explain(service string, err error) error {
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return errcode.New(errcode.Conflict, "the inventory of service %s was written by somebody else: does a second agent run in this cluster? The next pass reads it again", service)
	case away(err), apierrors.IsInternalError(err):
		return unavailable(err)
	case apierrors.IsNotFound(err):
		return errcode.New(errcode.NotFound, "write the inventory of service %s: %w; create namespace %s", service, err, s.namespace)
	}
	return errcode.New(errcode.Forbidden, "write the inventory of service %s into namespace %s: %w", service, s.namespace, err)
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
