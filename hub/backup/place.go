package backup

import (
	"cmp"
	"context"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
)

// Access is how a bucket is reached; nothing of it counts for folders. The zero value
// is S3 of Amazon, with the region and the role or keys of the environment.
type Access struct {
	// Endpoint is the URL of an S3-compatible store; empty is Amazon's.
	Endpoint string
	// Region is the bucket's region; empty is that of the environment, else us-east-1.
	Region string
	// CredentialsFile is a file in the format of AWS's shared credentials with the
	// profile "default", read again for each backup. Empty takes what the environment
	// gives: variables, a web identity, a pod identity, the machine's role.
	CredentialsFile string
}

// File is a backup as a place lists it.
type File struct {
	Name string
	// Series is the database that the backup is of, and At when it was begun.
	Series string
	At     time.Time
	Bytes  int64
}

// Place is a folder, or a bucket with a prefix.
type Place interface {
	// Put writes what fill produces under a name, all or nothing, and returns its
	// size. It replaces what has the name.
	Put(ctx context.Context, name string, fill func(w io.Writer) error) (int64, error)
	// List returns the backups that a Keeper made, newest first.
	List(ctx context.Context) ([]File, error)
	// Open reads a backup. NotFound when it does not exist.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	// Remove deletes one, and does nothing when it is gone.
	Remove(ctx context.Context, name string) error
}

// Open returns the place of a folder's path or of s3://BUCKET/PREFIX. It connects to
// nothing. Errors are Invalid.
func Open(ctx context.Context, place string, a Access) (Place, error) {
	bucket, prefix, err := parse(place)
	if err != nil {
		return nil, err
	}
	if bucket == "" {
		return folder(place), nil
	}
	return openBucket(ctx, bucket, prefix, a)
}

// Check reports what is wrong with a place, without looking at it.
func Check(place string, a Access) error {
	bucket, _, err := parse(place)
	if err != nil {
		return err
	}
	if bucket == "" || a.Endpoint == "" {
		return nil
	}
	u, err := url.Parse(a.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return errcode.New(errcode.Invalid, "the endpoint of the bucket %q is not an http or https URL such as https://s3.example.com", u.Redacted())
	}
	return nil
}

// parse takes s3://BUCKET/PREFIX apart. An empty bucket says that it is a path.
func parse(place string) (bucket, prefix string, err error) {
	if place == "" {
		return "", "", errcode.New(errcode.Invalid, "no place for backups; name a folder, or a bucket such as s3://backups/axle")
	}
	scheme, rest, found := strings.Cut(place, "://")
	if !found {
		return "", "", nil
	}
	bucket, prefix, _ = strings.Cut(rest, "/")
	if scheme != "s3" || bucket == "" || strings.ContainsAny(rest, "?#@") {
		return "", "", errcode.New(errcode.Invalid, "%.200q is neither a folder nor a bucket such as s3://backups/axle", scheme+"://…")
	}
	return bucket, strings.Trim(prefix, "/"), nil
}

// Split takes the name of one backup apart: s3://backups/axle/today is "today" in
// s3://backups/axle. An empty name says that the whole place is meant: a folder that
// exists, or what ends with a slash.
func Split(target string) (place, name string) {
	bucket, prefix, err := parse(target)
	if err != nil || strings.HasSuffix(target, "/") || bucket != "" && prefix == "" {
		return target, ""
	}
	if bucket != "" {
		at := strings.LastIndex(target, "/")
		return target[:at], target[at+1:]
	}
	if info, err := os.Stat(target); err == nil && info.IsDir() {
		return target, ""
	}
	return filepath.Dir(target), filepath.Base(target)
}

const stamp = "20060102T150405Z"

// made are the names that a Keeper gives.
var made = regexp.MustCompile(`^axle-([a-z0-9]{8})-([0-9]{8}T[0-9]{6}Z)\.backup$`)

func nameOf(series string, at time.Time) string {
	return "axle-" + series + "-" + at.UTC().Format(stamp) + ".backup"
}

// fileOf reads a name that a Keeper gave.
func fileOf(name string, bytes int64) (File, bool) {
	m := made.FindStringSubmatch(name)
	if m == nil {
		return File{}, false
	}
	at, err := time.Parse(stamp, m[2])
	return File{Name: name, Series: m[1], At: at, Bytes: bytes}, err == nil
}

func newestFirst(files []File) []File {
	slices.SortFunc(files, func(a, b File) int { return cmp.Or(b.At.Compare(a.At), strings.Compare(a.Name, b.Name)) })
	return files
}

// Newest returns the newest backup that a Keeper made at a place. NotFound without
// one, Conflict where there are those of several databases.
func Newest(ctx context.Context, p Place) (File, error) {
	files, err := p.List(ctx)
	if err != nil {
		return File{}, err
	}
	if len(files) == 0 {
		return File{}, errcode.New(errcode.NotFound, "there is no backup of a schedule; name the file")
	}
	for _, f := range files {
		if f.Series != files[0].Series {
			return File{}, errcode.New(errcode.Conflict, "there are backups of more than one hub's database: %s, and %s; name the file", files[0].Name, f.Name)
		}
	}
	return files[0], nil
}
