package assertion

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// shapes are what claims of the known issuers look like; each % is a word that a
// stranger chooses.
var shapes = []string{
	"%", "%/%", "%/%/%", "%:%", "%:%:%:%", "%-%", "%_%", "%.%", "% %", "%@%.com", "https://%.com/%/%", "refs/heads/%", "refs/tags/%", "refs/pull/%/merge",
	// GitHub, GitLab, Kubernetes, HCP Terraform, Buildkite, CircleCI, Bitbucket, Azure DevOps.
	"repo:%/%:ref:refs/heads/%", "repo:%/%:ref:refs/heads/main", "repo:%/%:ref:refs/tags/%", "repo:%/%:environment:%", "repo:%/%:environment:production", "repo:%/%:pull_request",
	"%/%/.github/workflows/%.yml@refs/heads/main", "project_path:%/%:ref_type:branch:ref:%", "project_path:%/%:ref_type:branch:ref:main", "system:serviceaccount:%:%",
	"organization:%:project:%:workspace:%:run_phase:apply", "organization:%:pipeline:%:ref:refs/heads/main:commit:%:step:%", "org/%/project/%/user/%", "{%}:{%}", "sc://%/%/%",
	"p:%:%", "job_%",
}

// everybodys are values that every job has, whoever's it is.
var everybodys = []string{"", "true", "false"}

const (
	// rounds is how many values there are of each shape.
	rounds = 24
	// longest is the length of the longest word, that of a digest.
	longest = 64
)

// alphabets are what words are of.
var alphabets = []string{
	"abcdefghijklmnopqrstuvwxyz", "0123456789", "0123456789abcdef", "abcdefghijklmnopqrstuvwxyz0123456789-_.", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
	"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ abcxyzABCXYZ019äßλЖ中\U0001F680\n\t",
}

// strangers are values of claims that somebody else could have. They are the same each
// time, so that a pattern is always judged alike.
var strangers = sync.OnceValue(func() (all []string) {
	random := rand.New(rand.NewPCG(4, 2))
	word := func(length int) string {
		alphabet := []rune(alphabets[random.IntN(len(alphabets))])
		var b strings.Builder
		for range length {
			b.WriteRune(alphabet[random.IntN(len(alphabet))])
		}
		return b.String()
	}
	for _, shape := range shapes {
		for range rounds {
			parts := strings.Split(shape, "%")
			for i := range parts[1:] {
				parts[i] += word(1 + random.IntN(20))
			}
			all = append(all, strings.Join(parts, ""))
		}
	}
	for length := range longest + 1 {
		for range len(alphabets) {
			all = append(all, word(length))
		}
	}
	return all
})

// admitsStrangers reports whether a pattern matches what somebody else's job could
// claim. One that is a single value itself, however short, does not by chance.
func admitsStrangers(text string, pattern *regexp.Regexp) bool {
	for _, value := range strangers() {
		if value != text && pattern.MatchString(value) {
			return true
		}
	}
	return slices.ContainsFunc(everybodys, pattern.MatchString)
}
