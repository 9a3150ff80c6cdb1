// Package queue runs jobs.
package queue

import (
	"context"
	"errors"

	"example.com/shop/store"
)

//go:generate stringer -type=State

// MaxTries says how often a job is tried.
const MaxTries = 3

const (
	// Waiting is where a job starts.
	Waiting State = iota
	running
)

// ErrFull is returned where nothing more fits.
var ErrFull = errors.New("full")

var (
	count, limit int
)

// State is what a job is in.
type State int

// Handler runs one job.
type Handler func(ctx context.Context, job *Job) error

type alias = map[string]any

// Job is what is done.
type Job struct {
	Name string `json:"name"`
	tries int
	store.Row
}

// Runner runs jobs.
type Runner interface {
	// Run runs one.
	Run(ctx context.Context, job *Job) (done bool, err error)
	store.Closer
}

// Queue holds jobs of one kind.
type Queue[T any, K comparable] struct {
	jobs []T
}

type (
	// Pair is two of a kind.
	Pair[T any] struct{ a, b T }
	hidden interface{ close() }
)

// New makes a queue.
//
// It is empty.
func New[T any, K comparable](size int, options ...func(*Queue[T, K])) (*Queue[T, K], error) {
	if size < 0 || size > 1000 {
		return nil, ErrFull
	}
	return &Queue[T, K]{jobs: make([]T, 0, size)}, nil
}

// Push puts one at the end.
func (q *Queue[T, K]) Push(job T, first, second string) (n int) {
	for i := range q.jobs {
		switch {
		case i > limit:
			return i
		default:
			count++
		}
	}
	q.jobs = append(q.jobs, job)
	return len(q.jobs)
}

func (Queue[T, K]) clear(int, string) {}

func (s State) String() string { return [...]string{"waiting", "running"}[s] }

func (j Job) each(f func(name string) error) error {
	retry := func() error { return f(j.Name) }
	return retry()
}

func init() {
	count = 0
}
