// Package kubepage reads the lists of an API server object by object. Whoever may write
// objects decides how large they are: a hundred of a tenant's, each as large as etcd takes
// them, are 150 MB of text, and gigabytes decoded all at once. So one is in memory at a time,
// and Decode refuses one that becomes too much.
//
// It does not know kinds, and does not follow the pages: its users do.
package kubepage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/bounded"
)

// Most is what one object may become: more than what etcd takes of a kind that people use,
// such as the largest definitions, becomes.
const Most = 64 << 20

// Each calls back with each object of a page, which the callback may keep, and returns the
// list's metadata. The request has to ask for JSON.
func Each(ctx context.Context, r *rest.Request, each func(object []byte) error) (meta metav1.ListMeta, err error) {
	body, err := r.MaxRetries(0).Stream(ctx)
	if err != nil {
		return meta, err
	}
	defer body.Close()
	return read(body, each)
}

// Decode decodes one object. An error wraps bounded.ErrTooLarge when it becomes too much.
func Decode(object []byte, into any) error { return bounded.JSON(object, into, Most) }

var errNoList = errors.New("the answer is not a list of objects")

func read(body io.Reader, each func(object []byte) error) (meta metav1.ListMeta, err error) {
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
			err = items(d, each)
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
