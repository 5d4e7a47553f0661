// Package kubepage reads the lists of an API server object by object. Whoever may write
// objects decides how large they are: a hundred of a tenant's, each as large as etcd takes
// them, are 150 MB of text, and gigabytes decoded all at once. So one is in memory at a time,
// and Decode refuses one that becomes too much.
//
// It does not know kinds. Objects follows the pages; Each reads one.
package kubepage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/jitter"
)

// Most is what one object may become: more than what etcd takes of a kind that people use,
// such as the largest definitions, becomes.
const Most = 64 << 20

// Each calls back with each object of a page, which the callback may keep, and returns the
// list's metadata. The request has to ask for JSON.
func Each(ctx context.Context, r *rest.Request, each func(object []byte) error) (meta metav1.ListMeta, err error) {
	body, err := open(ctx, r)
	if err != nil {
		return meta, err
	}
	defer body.Close()
	return read(body, func(_ metav1.TypeMeta, object []byte) error { return each(object) })
}

const (
	// tries bounds how often an API server that is busy is asked for a page.
	tries = 5
	// longest is the longest pause that is waited for.
	longest = 10 * time.Second
)

// open asks for a page, and again while the API server is busy and names the time of the next try:
// half a list is none. Those that it refused at one moment do not come back at one moment. What it
// answered last is returned when the context ends before the next answer.
func open(ctx context.Context, r *rest.Request) (io.ReadCloser, error) {
	var refused error
	for try := 1; ; try++ {
		body, err := r.MaxRetries(0).Stream(ctx)
		if err != nil && refused != nil && ctx.Err() != nil {
			return nil, refused
		}
		var refusal apierrors.APIStatus
		seconds, later := apierrors.SuggestsClientDelay(err)
		busy := later && errors.As(err, &refusal) && (refusal.Status().Code == http.StatusTooManyRequests || refusal.Status().Code >= 500)
		pause := time.Duration(max(seconds, 1)) * time.Second
		if err == nil || !busy || pause > longest || try == tries {
			return body, err
		}
		pause += jitter.Full(pause)
		if end, limited := ctx.Deadline(); limited && time.Until(end) <= pause || jitter.Wait(ctx, pause) != nil {
			return nil, err
		}
		refused = err
	}
}

// pageSize is how many objects are requested at once, unless the options name another number.
const pageSize = 200

// ErrEnough ends Objects without an error.
var ErrEnough = errors.New("that is enough")

// NewClient returns a client for Objects and Each, without a bound of requests by time.
func NewClient(cfg *rest.Config) (rest.Interface, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	cfg.AcceptContentTypes, cfg.ContentType = acceptJSON, acceptJSON
	cfg.GroupVersion, cfg.APIPath = &schema.GroupVersion{}, "/unused"
	cfg.QPS = -1
	// A watch stays open; the transport's own pings find dead connections.
	cfg.Timeout = 0
	client, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("client of the API server: %w", err)
	}
	return client, nil
}

const acceptJSON = "application/json"

// Path are the segments of the address of a resource's objects, of one namespace if that is
// not empty.
func Path(of schema.GroupVersionResource, namespace string) []string {
	path := []string{"/apis", of.Group, of.Version}
	if of.Group == "" {
		path = []string{"/api", of.Version}
	}
	if namespace != "" {
		path = append(path, "namespaces", namespace)
	}
	return append(path, of.Resource)
}

// Objects calls back with each object of a resource, of one namespace if that is not empty,
// and returns the metadata of the last page. An object that becomes too large is given to
// left, whose error ends the list.
func Objects(ctx context.Context, client rest.Interface, of schema.GroupVersionResource, namespace string, options metav1.ListOptions, each func(*unstructured.Unstructured) error, left func(error) error) (meta metav1.ListMeta, err error) {
	path := Path(of, namespace)
	options.Limit = cmp.Or(options.Limit, pageSize)
	for {
		request := client.Get().AbsPath(path...).SetHeader("Accept", acceptJSON).SpecificallyVersionedParams(&options, scheme.ParameterCodec, metav1.SchemeGroupVersion)
		body, err := open(ctx, request)
		if err != nil {
			return meta, err
		}
		meta, err = read(body, func(list metav1.TypeMeta, object []byte) error {
			o, err := one(list, object)
			if errors.Is(err, bounded.ErrTooLarge) {
				return left(err)
			}
			if err != nil {
				return err
			}
			return each(o)
		})
		_ = body.Close()
		if errors.Is(err, ErrEnough) {
			return meta, nil
		}
		if options.Continue = meta.Continue; err != nil || options.Continue == "" {
			return meta, err
		}
	}
}

// one decodes an object, which in a list of a built-in kind has no kind of its own.
func one(list metav1.TypeMeta, object []byte) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	if err := bounded.CheckJSON(object, &o.Object, Most); err != nil {
		var named struct {
			Metadata struct{ Namespace, Name string }
		}
		_ = json.Unmarshal(object, &named) // its name helps, and may be left out
		return nil, fmt.Errorf("%s %s: %w", strings.TrimSuffix(list.Kind, "List"), strings.TrimPrefix(named.Metadata.Namespace+"/"+named.Metadata.Name, "/"), err)
	}
	// Numbers are whole where they are written so, as clients of the API server have them.
	if err := utiljson.Unmarshal(object, &o.Object); err != nil {
		return nil, err
	}
	if o.Object == nil {
		return nil, errNoList
	}
	if o.GetKind() == "" && list.Kind != "" {
		o.SetAPIVersion(list.APIVersion)
		o.SetKind(strings.TrimSuffix(list.Kind, "List"))
	}
	return o, nil
}

// Decode decodes one object. An error wraps bounded.ErrTooLarge when it becomes too much.
func Decode(object []byte, into any) error { return bounded.JSON(object, into, Most) }

var errNoList = errors.New("the answer is not a list of objects")

func read(body io.Reader, each func(list metav1.TypeMeta, object []byte) error) (meta metav1.ListMeta, err error) {
	var list metav1.TypeMeta
	d := json.NewDecoder(body)
	if err := expect(d, '{'); err != nil {
		return meta, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return meta, err
		}
		switch key {
		case "metadata":
			err = d.Decode(&meta)
		case "items":
			err = items(d, func(object []byte) error { return each(list, object) })
		case "kind":
			err = d.Decode(&list.Kind)
		case "apiVersion":
			err = d.Decode(&list.APIVersion)
		default:
			var other json.RawMessage
			err = d.Decode(&other)
		}
		if err != nil {
			return meta, err
		}
	}
	return meta, expect(d, '}')
}

// items reads a list, or null for none.
func items(d *json.Decoder, each func(object []byte) error) error {
	begin, err := d.Token()
	if err != nil || begin == nil {
		return err
	}
	if begin != json.Delim('[') {
		return errNoList
	}
	for d.More() {
		var object json.RawMessage
		if err := d.Decode(&object); err != nil {
			return err
		}
		if err := each(object); err != nil {
			return err
		}
	}
	return expect(d, ']')
}

func expect(d *json.Decoder, want json.Delim) error {
	got, err := d.Token()
	if err != nil {
		return fmt.Errorf("read a list of objects: %w", err)
	}
	if got != want {
		return errNoList
	}
	return nil
}
