--- A queue of jobs that run one after another.
-- Jobs that fail are tried again.
-- @module queue
local socket = require("socket")
local log = require "queue.log"
local store = require('queue.store').open

local M = {}

--- How often a job is tried.
M.MAX_TRIES = 3

local DEFAULT_WAIT <const> = 0.5
VERSION = "1.2"

---@class Queue
---@field jobs table
local Queue = {}
Queue.__index = Queue

--- Makes a queue.
-- @param name what it is called
-- @param options limits and waits
-- @return the queue
function M.new(name, options)
  options = options or {}
  local self = setmetatable({ name = name, jobs = {}, wait = options.wait or DEFAULT_WAIT }, Queue)
  return self
end

--- Puts a job at the end.
-- @tparam function job
-- @param ... what it is called with
-- @treturn number its place
function Queue:push(job, ...)
  if type(job) ~= "function" then
    error("a job is a function", 2)
  elseif #self.jobs > 1000 and not self.open then
    return nil, "full"
  end
  self.jobs[#self.jobs + 1] = { run = job, args = { ... } }
  return #self.jobs
end

-- Waits longer each time.
local function pause(tries)
  for n = 1, tries do
    socket.sleep(DEFAULT_WAIT * n)
  end
end

--[[ Runs every job.
     Stops at the first that fails too often. ]]
function Queue:run()
  local function attempt(job)
    local ok, problem = pcall(job.run, table.unpack(job.args))
    if not ok then
      log.warn("%s: %s", self.name, problem)
    end
    return ok
  end

  for _, job in ipairs(self.jobs) do
    local tries = 0
    repeat
      tries = tries + 1
      if attempt(job) then break end
      pause(tries)
    until tries >= M.MAX_TRIES
    while self.paused do
      socket.sleep(1)
    end
  end
end

--- Empties it.
M.clear = function(queue)
  queue.jobs = {}
end

local count = function(queue) return #queue.jobs end

M.helpers = {
  --- Adds two numbers.
  add = function(a, b) return a + b end,
  nested = { deep = function() end },
}

function global_reset()
  store():truncate()
end

return M
