package kubeclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/secreterror"
)

const (
	// requestLimit is the deadline of one request; API servers give up after 60 s.
	requestLimit = 30 * time.Second
	// retryLimit bounds the retries of one request: a step of a pass starts writes for
	// as long.
	retryLimit = 10 * time.Second
	// tries bounds how often a request is sent while the API server throttles or
	// times out.
	tries = 6
	// acceptMetadata makes the API server answer with metadata only, however large
	// the object is.
	acceptMetadata = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1," +
		"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
	acceptList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

// Sender sends the requests that applying needs. Each request waits at the gate, has
// a deadline, and is repeated while the API server is only busy. A sender acts as the
// agent itself, which also writes the inventories.
type Sender struct {
	rest rest.Interface
	gate *Gate
}

// Client is a sender for the objects of a service. Only agent/apply makes one: for a
// permit, and to release what an ended registration of the cluster left.
type Client struct{ *Sender }

// NewSender returns a sender that reaches the API server by cfg.
func NewSender(cfg *rest.Config, g *Gate) (*Sender, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	cfg.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	cfg.ContentType = "application/json"
	cfg.GroupVersion = &schema.GroupVersion{}
	cfg.APIPath = "/unused"
	// The gate bounds concurrent requests, and the API server's priority and fairness
	// bounds their rate. A client-side rate limit would only add latency.
	cfg.QPS = -1
	c, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("client of the API server: %w", err)
	}
	return &Sender{rest: c, gate: g}, nil
}

// Path is the path of an object, or of all objects of a kind if name is empty.
func Path(kind kubeobj.Kind, namespace, name string) string {
	var b strings.Builder
	if kind.Group == "" {
		b.WriteString("/api/" + kind.Version)
	} else {
		b.WriteString("/apis/" + kind.Group + "/" + kind.Version)
	}
	if kind.Namespaced {
		b.WriteString("/namespaces/" + namespace)
	}
	b.WriteString("/" + kind.Resource)
	if name != "" {
		b.WriteString("/" + name)
	}
	return b.String()
}

// do sends the request from build until it gets a final answer.
func (c *Sender) do(ctx context.Context, build func() *rest.Request) (rest.Result, error) {
	backoff := jitter.Backoff{Min: 100 * time.Millisecond, Max: 5 * time.Second}
	began := time.Now()
	for try := 1; ; try++ {
		result, err := c.once(ctx, build)
		if err == nil {
			return result, nil
		}
		if try == tries || !busy(err) || ctx.Err() != nil || time.Since(began) > retryLimit {
			return result, err
		}
		wait := backoff.Next()
		if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
			wait += time.Duration(seconds) * time.Second
		}
		if jitter.Wait(ctx, wait) != nil {
			return result, err
		}
	}
}

func (c *Sender) once(ctx context.Context, build func() *rest.Request) (rest.Result, error) {
	if err := c.gate.enter(ctx); err != nil {
		return rest.Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	result := build().MaxRetries(0).Do(ctx)
	err := result.Error()
	c.gate.leave(apierrors.IsTooManyRequests(err))
	return result, err
}

// busy reports whether the same request may succeed shortly after.
func busy(err error) bool {
	return apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsTimeout(err) || apierrors.IsServiceUnavailable(err)
}

// Away reports whether the API server could not be reached, so that nothing is known
// about the object. A status 500 does not count: the API server answers so to a
// manifest whose fields have the wrong type.
func Away(err error) bool {
	if err == nil {
		return false
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	return busy(err) || apierrors.IsUnauthorized(err)
}

func metadataOf(result rest.Result) (*metav1.PartialObjectMetadata, error) {
	object, err := result.Get()
	if err == nil {
		if m, ok := object.(*metav1.PartialObjectMetadata); ok {
			return m, nil
		}
	}
	raw, err := result.Raw()
	if err != nil {
		return nil, err
	}
	var m metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("read the metadata that the API server answered: %w", err)
	}
	return &m, nil
}

// Get reads an object's metadata; nil without an error if the object does not exist.
func (c *Sender) Get(ctx context.Context, kind kubeobj.Kind, ref kubeobj.Ref) (*metav1.PartialObjectMetadata, error) {
	result, err := c.do(ctx, func() *rest.Request {
		return c.rest.Get().AbsPath(Path(kind, ref.Namespace, ref.Name)).SetHeader("Accept", acceptMetadata)
	})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return metadataOf(result)
}

// Apply sends a forced server-side apply.
func (c *Sender) Apply(ctx context.Context, kind kubeobj.Kind, ref kubeobj.Ref, body []byte) (*metav1.PartialObjectMetadata, error) {
	return c.Patch(ctx, kind, ref, types.ApplyPatchType, body)
}

// Patch sends a patch of any form; a server-side apply is forced.
func (c *Sender) Patch(ctx context.Context, kind kubeobj.Kind, ref kubeobj.Ref, form types.PatchType, body []byte) (*metav1.PartialObjectMetadata, error) {
	result, err := c.do(ctx, func() *rest.Request {
		if form == types.ApplyPatchType {
			return c.applyRequest(kind, ref, body).SetHeader("Accept", acceptMetadata)
		}
		return c.rest.Patch(form).AbsPath(Path(kind, ref.Namespace, ref.Name)).SetHeader("Accept", acceptMetadata).
			Param("fieldManager", kubeobj.FieldManager).Body(body)
	})
	if err != nil {
		return nil, secreterror.OfKind(kind.Group, kind.Kind, err)
	}
	return metadataOf(result)
}

// applyRequest is the server-side apply request of both passes and diffs.
func (c *Sender) applyRequest(kind kubeobj.Kind, ref kubeobj.Ref, body []byte) *rest.Request {
	return c.rest.Patch(types.ApplyPatchType).AbsPath(Path(kind, ref.Namespace, ref.Name)).
		Param("fieldManager", kubeobj.FieldManager).Param("force", "true").Body(body)
}

// Remove deletes an object if it is still the one that was read. It reports whether
// the object is already gone; otherwise finalizers hold it.
func (c *Sender) Remove(ctx context.Context, kind kubeobj.Kind, ref kubeobj.Ref, uid types.UID, version string) (gone bool, err error) {
	policy := metav1.DeletePropagationBackground
	options := metav1.DeleteOptions{
		TypeMeta:          metav1.TypeMeta{Kind: "DeleteOptions", APIVersion: "v1"},
		PropagationPolicy: &policy,
		Preconditions:     &metav1.Preconditions{UID: &uid},
	}
	if version != "" {
		options.Preconditions.ResourceVersion = &version
	}
	body, err := json.Marshal(options)
	if err != nil {
		return false, err
	}
	result, err := c.do(ctx, func() *rest.Request {
		return c.rest.Delete().AbsPath(Path(kind, ref.Namespace, ref.Name)).SetHeader("Accept", "application/json").
			SetHeader("Content-Type", "application/json").Body(body)
	})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	raw, err := result.Raw()
	if err != nil {
		return false, err
	}
	var answer struct {
		Kind     string `json:"kind"`
		Metadata struct {
			DeletionTimestamp string   `json:"deletionTimestamp"`
			Finalizers        []string `json:"finalizers"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return false, fmt.Errorf("read the answer to a delete: %w", err)
	}
	return answer.Kind == "Status" || answer.Metadata.DeletionTimestamp == "", nil
}

// Raw reads a whole object into out.
func (c *Sender) Raw(ctx context.Context, where string, params map[string]string, out any) error {
	return c.read(ctx, "application/json", where, params, out)
}

// List reads a page of a list, of each object only its metadata.
func (c *Sender) List(ctx context.Context, where string, params map[string]string) (page metav1.PartialObjectMetadataList, err error) {
	return page, c.read(ctx, acceptList, where, params, &page)
}

func (c *Sender) read(ctx context.Context, accept, where string, params map[string]string, out any) error {
	result, err := c.do(ctx, func() *rest.Request {
		r := c.rest.Get().AbsPath(where).SetHeader("Accept", accept)
		for key, value := range params {
			r = r.Param(key, value)
		}
		return r
	})
	if err != nil {
		return err
	}
	body, err := result.Raw()
	if err != nil {
		return err
	}
	return json.NewDecoder(bytes.NewReader(body)).Decode(out)
}

// Write creates (POST) or replaces (PUT) one of the agent's own objects, which are Secrets.
func (c *Sender) Write(ctx context.Context, verb, where string, object any) (*metav1.PartialObjectMetadata, error) {
	body, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	result, err := c.do(ctx, func() *rest.Request {
		return c.rest.Verb(verb).AbsPath(where).SetHeader("Accept", acceptMetadata).
			SetHeader("Content-Type", "application/json").Param("fieldManager", kubeobj.FieldManager).Body(body)
	})
	if err != nil {
		return nil, secreterror.Of(err)
	}
	return metadataOf(result)
}

// Whole reads an object; nil without an error if it does not exist.
func (c *Sender) Whole(ctx context.Context, kind kubeobj.Kind, ref kubeobj.Ref) (map[string]any, error) {
	var object map[string]any
	err := c.Raw(ctx, Path(kind, ref.Namespace, ref.Name), nil, &object)
	if apierrors.IsNotFound(err) && !Unserved(err) {
		return nil, nil
	}
	return object, err
}

// DryApply is apply as a dry run. It returns the whole object.
func (c *Sender) DryApply(ctx context.Context, kind kubeobj.Kind, ref kubeobj.Ref, body []byte) (map[string]any, error) {
	return c.dry(ctx, kind, func() *rest.Request { return c.applyRequest(kind, ref, body) })
}

// DryPatch merges a body into an object as a dry run: lists by their keys, where the kind
// is one of Kubernetes' own.
func (c *Sender) DryPatch(ctx context.Context, kind kubeobj.Kind, ref kubeobj.Ref, body []byte) (object map[string]any, err error) {
	for _, form := range []types.PatchType{types.StrategicMergePatchType, types.MergePatchType} {
		object, err = c.dry(ctx, kind, func() *rest.Request {
			return c.rest.Patch(form).AbsPath(Path(kind, ref.Namespace, ref.Name)).Param("fieldManager", kubeobj.FieldManager).Body(body)
		})
		if !apierrors.IsUnsupportedMediaType(err) {
			break
		}
	}
	return object, err
}

// dry sends a request about an object of a kind as a dry run.
func (c *Sender) dry(ctx context.Context, kind kubeobj.Kind, build func() *rest.Request) (map[string]any, error) {
	result, err := c.do(ctx, func() *rest.Request {
		return build().SetHeader("Accept", "application/json").Param("dryRun", "All")
	})
	if err != nil {
		return nil, secreterror.OfKind(kind.Group, kind.Kind, err)
	}
	raw, err := result.Raw()
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, errors.New("the answer to a dry run is not an object")
	}
	return object, nil
}
